//! The pacing score: policies over recorded and made traces, as the tables of `benches/README.md`.

use decluster::Config;
use decluster::Nanos;
use decluster_score::{Row, Score, Trace, clairvoyant, engine, header, lay, synthetic};
use std::path::Path;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let sets = sets()?;
    if std::env::args().any(|a| a == "groups") {
        for (name, traces) in &sets {
            let mut groups: Vec<&str> = traces.iter().map(|t| t.0.group.as_str()).collect();
            groups.dedup();
            groups.sort();
            groups.dedup();
            for g in groups {
                let ts: Vec<_> = traces.iter().filter(|t| t.0.group == g).collect();
                let d = Nanos::from_millis(1_500);
                let best: Vec<Score> = ts
                    .iter()
                    .map(|t| Score::new(&t.0, &clairvoyant::taut_string(&t.0, d)))
                    .collect();
                let f: Vec<Score> = ts
                    .iter()
                    .map(|t| {
                        Score::new(
                            &t.0,
                            &clairvoyant::frontier(&t.0, d, 0.5, Nanos::from_millis(300)),
                        )
                    })
                    .collect();
                let f = Row::new(&f, &best);
                let run = |unit: &str| {
                    let config = Config::default().with_choice("unit", unit).unwrap();
                    let s: Vec<Score> = ts
                        .iter()
                        .map(|(t, text)| {
                            let texts = lay(text, t.tokens() as usize);
                            Score::new(t, &engine::run(&config, t, Some(&texts)).schedule)
                        })
                        .collect();
                    Row::new(&s, &best)
                };
                let (w, b) = (run("word"), run("block"));
                println!(
                    "{name:18} {g:32} n {:3} rate {:5.0} span {:5.1} | frontier {:4.0}ms cv {:.3} | word {:4.0}ms cv {:.3} av {:6.2} tail {:4.0} | block {:4.0}ms cv {:.3} av {:6.2}",
                    ts.len(),
                    ts.iter().map(|t| t.0.tokens() as f64 / t.0.span()).sum::<f64>()
                        / ts.len() as f64,
                    ts.iter().map(|t| t.0.span()).sum::<f64>() / ts.len() as f64,
                    f.delay_mean * 1e3,
                    f.variation,
                    w.delay_mean * 1e3,
                    w.variation,
                    w.avoidable[2],
                    w.tail * 1e3,
                    b.delay_mean * 1e3,
                    b.variation,
                    b.avoidable[2]
                );
            }
        }
        return Ok(());
    }
    println!("{}", header());
    for (name, traces) in &sets {
        let d = Nanos::from_millis(1_500);
        let best: Vec<Score> =
            traces.iter().map(|t| Score::new(&t.0, &clairvoyant::taut_string(&t.0, d))).collect();
        println!("{}", Row::new(&best, &best).line(&format!("{name} clairvoyant")));
        let jit: Vec<Score> =
            traces.iter().map(|t| Score::new(&t.0, &clairvoyant::just_in_time(&t.0, d))).collect();
        println!("{}", Row::new(&jit, &best).line(&format!("{name} jit")));
        let pass: Vec<Score> = traces.iter().map(|t| Score::new(&t.0, &t.0.arrivals)).collect();
        println!("{}", Row::new(&pass, &best).line(&format!("{name} pass")));
        for pull in [1.0, 4.0] {
            let f: Vec<Score> = traces
                .iter()
                .map(|t| {
                    Score::new(&t.0, &clairvoyant::frontier(&t.0, d, pull, Nanos::from_millis(300)))
                })
                .collect();
            println!("{}", Row::new(&f, &best).line(&format!("{name} frontier {pull}")));
        }
        for unit in ["word", "block"] {
            let config = Config::default().with_choice("unit", unit)?;
            let mut cuts = [(0u32, 0u32, 0u32); 4];
            let scores: Vec<Score> = traces
                .iter()
                .map(|(t, text)| {
                    let texts = lay(text, t.tokens() as usize);
                    let run = engine::run(&config, t, Some(&texts));
                    let b = run.blocks();
                    let v = t.tokens() as f64 / t.span();
                    let c = &mut cuts[[30.0, 60.0, 100.0].iter().filter(|x| v >= **x).count()];
                    *c = (c.0 + b.all, c.1 + b.cut, c.2 + b.cut_first);
                    Score::new(t, &run.schedule)
                })
                .collect();
            println!("{}", Row::new(&scores, &best).line(&format!("{name} {unit}")));
            println!(
                "cuts {cuts:?} {:?}",
                cuts.map(|c| (
                    100.0 * c.1 as f64 / c.0 as f64,
                    100.0 * (c.1 - c.2) as f64 / c.0 as f64
                ))
            );
        }
    }
    Ok(())
}

fn sets() -> Result<Vec<(String, Vec<(Trace, String)>)>, Error> {
    let mut texts: Vec<String> = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir("../shared/reasoning-text")?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for n in names {
        if n.extension().is_some_and(|e| e == "txt") {
            texts.push(std::fs::read_to_string(n)?);
        }
    }
    let mut k = 0;
    let mut with_text = |t: Trace| {
        k += 1;
        let mut text = String::new();
        let mut i = k * 37;
        while text.len() < 6 * t.tokens() as usize {
            text.push_str(&texts[i % texts.len()]);
            i += 1;
        }
        (t, text)
    };
    let mut tuning = Vec::new();
    let mut held = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(Path::new("../shared/traces"))?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    for file in files {
        if file.extension().is_none_or(|e| e != "jsonl") {
            continue;
        }
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut n = 0;
        for (i, line) in std::fs::read_to_string(&file)?.lines().enumerate() {
            let t = Trace::from_json(&format!("{name}:{}", i + 1), &name, line)?
                .until(Nanos::from_secs(40));
            if t.tokens() < 60 {
                continue;
            }
            n += 1;
            if n > 60 {
                break;
            }
            if n <= 12 { tuning.push(with_text(t)) } else { held.push(with_text(t)) }
        }
    }
    Ok(vec![
        ("tuning real".into(), tuning),
        (
            "tuning synthetic".into(),
            synthetic::traces(7, 6).into_iter().map(&mut with_text).collect(),
        ),
        ("held-out real".into(), held),
        (
            "held-out synthetic".into(),
            synthetic::traces(99, 6).into_iter().map(&mut with_text).collect(),
        ),
    ])
}
