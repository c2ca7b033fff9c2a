//! Where sentences end with [`SegmentConfig::sentences`], no language given. One test function per kind:
//!
//! abbreviations, titles, initials, pronouns, times, dates, numbers, money, inline lists, lettered lists,
//! bullets, quotes (straight, curly, low-high, guillemets both ways, corner brackets), citations, ellipses,
//! URLs, e-mail, file paths, versions and addresses, parentheses, brackets, references, geo coordinates,
//! factorials, dashes, full-width punctuation, Japanese, Chinese, Korean, Arabic and Urdu, Hindi, Russian,
//! German, French, Spanish, Italian, Portuguese, Dutch and Polish, other scripts' stops, Thai, Markdown,
//! code, formulas, emoji, tables, text all in small letters, marks that open without a blank, lines and
//! paragraphs, missing blanks, text without an end.
//!
//! Known not to work, each with a test below that says what happens instead:
//! - A quotation or parenthesis of several sentences is cut inside.
//! - An abbreviation before a word that often begins sentences is taken for the end ("z. B." and titles are
//!   not): "in the U.S. The Hague".
//! - An abbreviation at the end of a sentence, before a word that is not among the listed openers, ends none.
//! - Without a blank after it a full stop of Latin script ends nothing: it may as well be `fmt.Println`.
//! - A numbered list within a line is seen only if its first item begins the line or follows a stop.
//! - Thai and Lao have no sign for the end of a sentence.

use decluster::segment::{SegmentConfig, Segmenter};

fn sentences(pushes: impl Iterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut segmenter = Segmenter::new(SegmentConfig::default().sentences(true));
    let mut blocks = Vec::new();
    for text in pushes {
        blocks.extend(segmenter.push(text.as_ref()));
    }
    blocks.extend(segmenter.finish());
    blocks.into_iter().map(|block| block.text).collect()
}

/// `¦` is where sentences end, and nowhere else; the same if the text comes char by char.
fn same(marked: &str) {
    let text = marked.replace('¦', "");
    assert_eq!(sentences([&text].into_iter()).join("¦"), marked);
    assert_eq!(sentences(text.chars().map(String::from)).join("¦"), marked, "char by char");
}

fn all(table: &[&str]) {
    for marked in table {
        same(marked);
    }
}

#[test]
fn plain_sentences() {
    all(&[
        "The kettle boils.¦ Nobody hears it.",
        "Who left the gate open?¦ The goats are gone!¦ Call the neighbours.",
        "Stop!!¦ That wire is live.",
        "You did what?!¦ Tell me again.",
        "One small thing. and then another",
        "Is it raining?",
    ]);
}

#[test]
fn small_letters_throughout() {
    all(&[
        "hello there.¦ this is all small.¦ really?¦ ok then.",
        "i think so, e.g. at noon.¦ I'm sure.¦ then I go.",
        "i use Python a lot.¦ it works.¦ fine.",
        "all small.¦ Once one begins with a capital. none of these ends a sentence. see?",
    ]);
}

#[test]
fn rows_of_tables() {
    all(&["| A. B | Very good. Yes! |\n¦| 很好。很快！ | C |\n", "|x| is positive.¦ So is |y|."]);
}

#[test]
fn marks_that_open_without_a_blank() {
    all(&[
        "他走了。¦“你好，”她说。¦“好吗？”¦“好。”",
        "他走了。¦\"你好。\"¦她说。¦\"再见。\"",
        "好。¦**注意**这个。¦*真的*。",
        "好。¦$x=1。$ 再见。",
        "我喜欢。¦Dr. Wang 来了。",
        "He likes you—Dr. Ito said so.¦ Fine.",
    ]);
}

#[test]
fn abbreviations() {
    all(&[
        "Bring cups, plates, etc. for the picnic.¦ Leave the knives.",
        "Small tools, e.g. Files and rasps, hang on the wall.",
        "See Fig. 4 and Eq. (7) for the proof.¦ Then go on.",
        "It is in Vol. II of the series.",
        "Smith et al. Report on this at length.",
        "We signed with Harbour Bros. Ltd. on Monday.",
        "We signed with Harbour Bros. Ltd.¦ They paid at once.",
        "About approx. 40 people vs. 12 dogs.",
        "Can you do it?¦ No.¦ I cannot.",
    ]);
}

#[test]
fn titles() {
    all(&[
        "Mr. Brown met Prof. Green and Dr. White.¦ They had tea.",
        "Capt. Hook and Lt. Cole sailed.¦ Gen. Ross stayed.",
        "St. Anne lies below Mt. Hood.",
    ]);
}

#[test]
fn initials() {
    all(&[
        "The book by R. A. Marlow is out.¦ I. A. Bell wrote the preface.",
        "J. Q. Public voted.",
        "Ask Tom B. Reed about it.",
        "She lives in the U.S. Virgin Islands now.",
        "She moved to the U.K.¦ Her brother stayed.",
    ]);
}

#[test]
fn pronouns() {
    all(&["They went home, and so did I.¦ Nobody minded.", "Louis I. Kahn built it."]);
}

#[test]
fn times() {
    all(&[
        "The bus leaves at 6 p.m. from the square.",
        "The bus leaves at 6 p.m.¦ The last one is at ten.",
        "We met at 9 a.m. Monday.¦ It was cold.",
        "By 10:30 we had it.¦ At 11.15 it broke.",
        "He called at 7 P.M.¦ Mrs. Lund picked up.",
    ]);
}

#[test]
fn dates() {
    all(&[
        "It opens on Jan. 5 and closes on Feb. 20.",
        "It was signed on 27.10.2014.¦ It ended a year later.",
        "That was in 1987.¦ Then came 1988.",
    ]);
}

#[test]
fn numbers() {
    all(&[
        "The rate rose by 2.5 percent.¦ It fell by 1.25 later.",
        "He has 3.¦ She has 5.",
        "1,250.75 is the sum.¦ 3 is the rest.",
        "Take item No. 12 from the shelf.",
        "It stands at N°. 44.210 in the list.",
        ".5 is a half.¦ .25 is a quarter.",
    ]);
}

#[test]
fn money() {
    all(&[
        "It costs $4.50.¦ That is too much.",
        "They want €1.200,00 for it.¦ Nobody pays that.",
        "The fine is £20!¦ Pay it.",
    ]);
}

#[test]
fn inline_lists() {
    all(&[
        "1. Wash the rice¦ 2. Boil the water¦ 3. Add some salt",
        "1. Wash it.¦ 2. Boil it.¦ 3. Eat it.",
        "1) Red paint¦ 2) Blue paint¦ 3) A brush",
        "1.) Bolts¦ 2.) Nuts",
        "(1) Bolts¦ (2) Nuts",
        "1. The answer is 2.¦ Not more than that.",
        "We need 1) bolts and 2) nuts.",
        "3. This line begins in the middle.\n¦4. This one goes on.\n",
    ]);
}

#[test]
fn lettered_lists() {
    all(&[
        "a. Open the lid¦ b. Pour it in¦ c. Close it",
        "a) Open the lid¦ b) Pour it in",
        "A. Open the lid¦ B. Pour it in",
        "a. Open lid c.¦ Then stop",
    ]);
}

#[test]
fn bullets() {
    all(&[
        "• Flour¦ • Sugar¦ • Eggs",
        "• 1. Flour¦ • 2. Sugar",
        "⁃1. Flour¦ ⁃2. Sugar",
        "Home • About • Contact",
        "- Flour and salt.\n¦- Two eggs.\n¦* Some milk\n",
        "- 1. Flour.¦ It has to be fine.",
    ]);
}

#[test]
fn straight_and_curly_quotes() {
    all(&[
        "\"It works.\"¦ She smiled.",
        "\"It works,\" she said.¦ \"At last.\"",
        "\"It works.\" she said.",
        "“Does it?” he asked.¦ “It does.”",
        "‘Enough.’¦ They left.",
        "He said 'stop.'¦ Nobody stopped.",
        "“One step.¦ Then another.”¦ He fell.",
    ]);
}

#[test]
fn low_high_quotes() {
    all(&[
        "Sie rief: „Komm her!“¦ Er kam nicht.",
        "„Wo ist er?“, fragte sie.¦ „Dort.“",
        "‚Genug.‘¦ Sie gingen.",
    ]);
}

#[test]
fn guillemets() {
    all(&[
        "Il cria : « Arrêtez tout ! »¦ Personne ne bougea.",
        "«Basta.»¦ Nessuno rispose.",
        "»Komm mit.«¦ Er blieb.",
        "»Komm mit.«¦ »Nein.«",
        "Il parle de « liberté » et s’en va.",
    ]);
}

#[test]
fn citations() {
    all(&[
        "“All rivers meet.” (Hale 12).¦ So they do.",
        "\"All rivers meet [...]\" (Hale 12).",
        "It is late.¦ (It was dark.)",
    ]);
}

#[test]
fn ellipses() {
    all(&[
        "I thought... well, never mind.",
        "I thought so...¦ Never mind.",
        "I thought so….¦ Never mind.",
        "I thought so....¦ Never mind.",
        "It was . . . not what I thought.",
        "It was over . . . .¦ Then it began.",
        "The text [...] Ends here.",
        "1, 2, 3, ... and so on.",
    ]);
}

#[test]
fn addresses_on_the_web() {
    all(&[
        "See https://docs.example.org/v2.1/index.html?a=b!c for it.¦ Then come back.",
        "The page is www.example.org.¦ Read it.",
        "Write to jo.day@mail.example.org.¦ She answers.",
    ]);
}

#[test]
fn file_paths() {
    all(&[
        "Open /etc/app.d/main.conf and edit it.¦ Save it.",
        "It is in C:\\Data\\old.txt.¦ Copy it.",
        "Run ../bin/tool.sh first.¦ Then wait.",
        "Edit main.rs, then lib.rs.¦ Build it.",
    ]);
}

#[test]
fn versions_and_addresses() {
    all(&["Version 3.11.2 runs on 10.0.0.1 today.¦ It is fine.", "Use v2.0.¦ Not v1.9."]);
}

#[test]
fn parentheses() {
    all(&[
        "The shed (It was built by hand.) leaks.",
        "The shed leaks.¦ (It was built by hand.)¦ We fix it.",
        "The shed (it leaks!) is old.",
        "He lives in the U.S. (since 1990).",
        "The shed (old.¦ Very old) leaks.",
    ]);
}

#[test]
fn references() {
    all(&[
        "It was proved early.[1]¦ Later it was forgotten.",
        "It was proved [2].¦ Later it was forgotten.",
        "It was proved.[3,4]¦ Later it was forgotten.",
        "It was proved.²¦ Later it was forgotten.",
        "It was proved.[^note] see below",
    ]);
}

#[test]
fn geo_coordinates() {
    all(&[
        "It lies at 48.8584° N, 2.2945° E.¦ The tower is tall.",
        "Go to 40°26′46″N 79°58′56″W.¦ Dig there.",
    ]);
}

#[test]
fn factorials_and_signs() {
    all(&[
        "So 5! = 120 and 4! × 3! is more.¦ Check it.",
        "We get 8! / (5! * 3!) in the end.",
        "The first half. / The second half.",
    ]);
}

#[test]
fn dashes() {
    all(&[
        "Where is it? – asked the boy.",
        "It works.¦ – Good.",
        "It works — mostly.¦ Try it.",
        "«Где он? – Там».",
    ]);
}

#[test]
fn full_width_punctuation() {
    all(&[
        "値は３．１４です。¦次へ進む。",
        "真的吗？！¦是的。",
        "他说：“走吧。”¦我们走了。",
        "一、二、三。¦四，五。",
    ]);
}

#[test]
fn japanese() {
    all(&[
        "「早く来て！」と母が言った。¦私は走った。",
        "「本当？」って聞いた。",
        "猫が好きです。¦犬も好きです。",
        "U.K.の会社です。",
    ]);
}

#[test]
fn chinese() {
    all(&[
        "我看过《你好！李先生》吗？¦没有。",
        "今天下雨。¦明天呢？¦不知道！",
        "太好了！🎉¦我们走。",
    ]);
}

#[test]
fn korean() {
    all(&[
        "오늘은 비가 옵니다.¦ 내일은 맑겠습니다.",
        "정말요?¦ 네, 정말이에요!",
        "값은 3.5입니다.¦ 끝.",
    ]);
}

#[test]
fn arabic_and_urdu() {
    all(&["هل وصلت؟¦ نعم، وصلت.¦ أنا هنا.", "یہ کتاب ہے۔¦ وہ قلم ہے۔", "قال: «لا أعرف.»¦ ثم خرج."]);
}

#[test]
fn hindi() {
    all(&["बारिश हो रही है।¦ हम घर जाएँगे।", "डॉ. शर्मा आए।¦ सब खुश हुए।", "क्या आप ठीक हैं?¦ हाँ।"]);
}

#[test]
fn russian() {
    all(&[
        "Он живёт на ул. Садовой, д. 5.¦ Она рядом.",
        "Это было в 1980-х гг. Иван помнит.",
        "В романе А. И. Петрова есть стр. 12.¦ Там ответ.",
        "Купи хлеб, т. е. батон.¦ И молоко.",
        "Проф.¦ Иванов и акад. Сидоров пришли.",
        "«Кто там?» – спросил он.¦ Тишина.",
    ]);
}

#[test]
fn german() {
    all(&[
        "Obst, z. B. Die rote Birne, ist gesund.",
        "Er kam am 3. Mai und blieb bis zum 12. Juni.¦ Dann ging er.",
        "Im 19. Jahrhundert war das so.",
        "Das ist d. h. Unsinn.",
        "Die Fa.¦ Maier hat ca. 40 Leute.",
        "Sie wohnt in der Ulmer Str. 7.¦ Er nicht.",
        "Dr. med. Kern und Dipl.-Ing. Vogt kamen.",
        "Das sind 5 Mio. Euro.¦ Wir zahlen nicht.",
    ]);
}

#[test]
fn french() {
    all(&[
        "M. Petit et Mme Roux sont là.¦ Ils attendent.",
        "Voir p. 20 et chap. 3.¦ C’est tout.",
        "Où va-t-il ?¦ Il rentre !",
        "L’an 52 av. J.-C. fut dur.",
        "Des fruits, par ex. Pommes et poires.",
    ]);
}

#[test]
fn spanish() {
    all(&[
        "¿Quién es?¦ ¡Soy yo!",
        "El Sr. Ruiz y la Sra. Paz llegan.¦ Esperan.",
        "Vive en EE. UU. desde 1990.",
        "Ver pág. 30 y art. 4.¦ Luego firmar.",
        "Frutas, p. ej. Peras.",
    ]);
}

#[test]
fn italian() {
    all(&[
        "Il Dott. Neri e l'Ing. Galli arrivano.¦ Tutti salutano.",
        "Il Sig. Conti è qui.¦ Dove siete?",
        "Frutta (ad es. Pere e mele) a cena.",
    ]);
}

#[test]
fn portuguese_dutch_and_polish() {
    all(&[
        "O Sr. Lopes e a Dra. Reis vieram.¦ Ela falou.",
        "Dhr.¦ Bos koopt fruit, bijv. Peren.",
        "To jest ul. Długa, nr 5.¦ Blisko.",
    ]);
}

#[test]
fn stops_of_other_scripts() {
    all(&["Նա եկավ։¦ Մենք գնացինք։", "እሱ መጣ።¦ እኛ ሄድን።", "သူလာသည်။¦ ငါသွားသည်။", "គាត់មក។¦ យើងទៅ។"]);
}

#[test]
fn thai_has_no_ends() {
    same("ฉันกินข้าว แล้วก็นอน");
    same("ฉันกินข้าว!¦ เธอนอน");
}

#[test]
fn markdown() {
    all(&[
        "**It works.**¦ Now test it.",
        "**Note:** It works.¦ _Test it._¦ Ship it.",
        "## 2. The plan\n\n¦First we test.¦ Then we ship.\n",
        "> 1. Quoted item.\n¦> 2. Another.\n",
        "1. **Bold.**¦ More text.\n",
        "See [the page](https://a.example/x.y).¦ Read it.",
        "| a. | b. |\n",
    ]);
}

#[test]
fn code() {
    all(&[
        "Call `list.pop(). Then` now.¦ It returns.",
        "```\n¦let a = x. Y;\n¦b? c! D\n¦```\n¦Done.¦ Bye.",
        "Use fmt.Println here.¦ It prints.",
    ]);
}

#[test]
fn formulas() {
    all(&[
        "Let $f(x) = 2. Y$ hold.¦ It does.",
        "We have \\(a. B\\) here.¦ Good.",
        "So $x = 3$.¦ Then $y = 4$.",
    ]);
}

#[test]
fn emoji() {
    all(&[
        "Well done! 🎉¦ Go on.",
        "It is over. 👩‍👩‍👧¦ We go.",
        "Nice 🙂 to see you.",
        "Really? 🤔🤔¦ Yes.",
    ]);
}

#[test]
fn lines_and_paragraphs() {
    all(&[
        "A heading\n¦A line that\n¦goes on.\n\n¦\nThe end.\n",
        "One.\r\n¦Two.\r\n\r\n¦Three.",
        "One.  \n¦  Two.",
    ]);
}

#[test]
fn without_a_blank_nothing_ends() {
    same("It is here.It is there.");
    same("Really?Yes.");
}

#[test]
fn what_is_known_to_be_wrong() {
    same("They met in the U.S.¦ The Hague was too far.");
    same("It ends with etc. Bananas are next.");
    same("He works for Acme Inc. Kate does not.");
}

#[test]
fn text_without_an_end_or_a_clause_is_cut_at_a_blank() {
    let blocks = sentences(["unbelievable ".repeat(900)].into_iter());
    assert!(blocks.len() > 3);
    assert!(blocks.iter().all(|block| block.trim_end().ends_with("able")), "{blocks:?}");
}

#[test]
fn text_without_an_end_is_cut_at_a_clause() {
    let text = "and one more apple from the old tree, ".repeat(60);
    let blocks = sentences([&text].into_iter());
    assert!(blocks.len() > 1);
    for block in &blocks[..blocks.len() - 1] {
        assert!(block.ends_with(','), "{block:?}");
    }
}
