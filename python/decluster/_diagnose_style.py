"""How the page of `decluster diagnose` looks.

Colours are told apart with any colour vision, and by shape besides: what came is dashed or
hatched, what is paced is solid. All text has a contrast of 4.5 or more, in light and in dark.
"""

STYLE = """
:root{--bg:#f7f7f4;--card:#fff;--ink:#1b1d20;--soft:#555b63;--line:#dcdcd6;
--before:#b8410a;--after:#0a5fa3;--hatch:#f1cdb8}
@media (prefers-color-scheme:dark){:root{--bg:#131519;--card:#1b1e23;--ink:#ebebe8;
--soft:#adb4bd;--line:#383d45;--before:#ffa268;--after:#74bcff;--hatch:#5a3a26}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:2rem 1rem;background:var(--bg);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{font-size:clamp(1.9rem,6vw,2.75rem);line-height:1.15;margin:.1rem 0 .8rem;letter-spacing:-.02em}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .8rem}
h3{font-size:1.05rem;line-height:1.4;margin:0}
p{margin:.4rem 0;max-width:44rem}
.over,.sub,.files,.keys,small,i,footer,.facts dt,.none{color:var(--soft);font-style:normal}
.over,.files,.sub,footer{font-size:.94rem}
.verdict:first-of-type,.over+h1+.verdict{font-size:1.1rem}
section{margin:2.5rem 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.8rem;
margin:2rem 0}
.tiles div,article,.pair figure,section>.scroll{background:var(--card);border:1px solid var(--line);
border-radius:.6rem}
.tiles div{padding:.8rem 1rem}
.tiles dt{color:var(--soft);font-size:.94rem}
.tiles dd{display:flex;gap:1.5rem;margin:.2rem 0 0;
font-size:1.45rem;font-weight:600;line-height:1.3}
.tiles small{display:block;font-size:.9rem;font-weight:400}
.before{color:var(--before)}.after{color:var(--after)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{padding:.22rem .6rem;text-align:right;font-weight:400;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:1rem}
th:last-child,td:last-child{padding-right:1rem}
th[scope=row]{white-space:normal}
thead th{font-weight:600;padding-top:.6rem}
tbody tr:last-child>*{padding-bottom:.5rem}
tbody tr:first-child>*{border-top:1px solid var(--line);padding-top:.5rem}
th[scope=rowgroup]{text-align:left;color:var(--soft)}
th.part{padding-left:1.8rem!important}
.facts{display:grid;grid-template-columns:minmax(9rem,max-content) 1fr;gap:.3rem 1.2rem;margin:0}
.facts dd{margin:0}
article{padding:1rem;margin:1rem 0}
article .pair{margin-top:1rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}
.pair figure{padding:1rem}
article .pair figure{border:0;padding:0}
figure{margin:0;min-width:0}
article>figure{margin-top:.8rem}
figcaption{font-size:.94rem}
.keys{display:flex;flex-wrap:wrap;gap:0 1.1rem;margin-top:.2rem}
.keys span{display:inline-flex;align-items:center;gap:.4rem}
.plot{padding:1.7rem .5rem 1.9rem 3.4rem}
svg{display:block}
.chart{overflow:visible}
text{fill:var(--soft);font-size:14px}
.grid,.axis{stroke:var(--line)}
.axis{stroke:var(--soft)}
.limit{stroke:var(--ink);stroke-dasharray:3 3}
.line{fill:none;stroke:currentColor;stroke-width:2.25;vector-effect:non-scaling-stroke;
stroke-linejoin:round}
.line.before{stroke-dasharray:6 3}
.mark{fill:currentColor;stroke:var(--card);stroke-width:1.5}
.bar.after{fill:currentColor}
.bar.before{stroke:currentColor}
.hatch0{fill:var(--hatch)}.hatch1{fill:var(--before)}
.sample{flex:none;stroke:currentColor;stroke-width:2.25;fill:none}
.sample.mark{color:var(--before);fill:currentColor;stroke:none}
.sample.bar.before{fill:var(--hatch);stroke-width:1}
.sample.bar.after{fill:currentColor}
.sample .hatch{stroke-width:2}
footer{border-top:1px solid var(--line);padding-top:1rem;margin-top:3rem}
@media (max-width:32rem){.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.5rem}
.plot{padding-right:0}th,td{padding-inline:.4rem}}
@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#ccc;--before:#b8410a;
--after:#0a5fa3;--hatch:#f1cdb8}body{max-width:none;padding:0}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
figure,tr,.tiles div{break-inside:avoid}h2,h3,.sub{break-after:avoid}}
""".strip()
