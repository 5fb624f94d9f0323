import { Html } from "./html.js";

/** How the pages look, in light and dark, wide and narrow. */
export const style = new Html(`
:root {
  color-scheme: light dark;
  --ink: light-dark(#1b1b1b, #ececec);
  --soft: light-dark(#565656, #ababab);
  --line: light-dark(#dcdcdc, #3a3a3a);
  --card: light-dark(#f5f6f8, #1d1e20);
  --link: light-dark(#0842a0, #8ab4f8);
  --bad: light-dark(#b3261e, #ff8a80);
  --well: light-dark(#146c2e, #7fd694);
  font: 15px/1.5 system-ui, sans-serif;
  background: light-dark(#fff, #121212);
  color: var(--ink);
}
body { max-width: 75rem; margin: 0 auto; padding: 0 1rem 3rem }
a { color: var(--link) }
h1 { font-size: 1.4rem; margin: 1.2rem 0 .8rem; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem }
p, li { overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; align-items: center; padding: .7rem 0; border-bottom: 1px solid var(--line) }
nav a { text-decoration: none; padding: .2rem 0 }
nav a:hover { text-decoration: underline }
nav [aria-current] { color: var(--ink); font-weight: 600; border-bottom: 2px solid var(--link) }
nav input { width: 19rem }
nav form { display: flex; gap: .4rem; align-items: center; margin-left: auto }
input, select, button, textarea { box-sizing: border-box; font: inherit; padding: .35rem .6rem; border: 1px solid light-dark(#8a8a8a, #777); border-radius: .3rem }
button { cursor: pointer }
input[type=checkbox] { width: 1.1rem; height: 1.1rem; margin: 0 .4rem 0 0; vertical-align: -.2em }
:focus-visible { outline: 3px solid var(--link); outline-offset: 1px }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
thead th { color: var(--soft); font-size: .87rem; font-weight: 600; vertical-align: bottom; white-space: nowrap }
tbody th { font-weight: 500 }
tbody tr:hover { background: var(--card) }
.number { text-align: right; font-variant-numeric: tabular-nums }
.number a:not(:hover) { text-decoration: none }
td.words { min-width: 13rem; overflow-wrap: anywhere }
td.pick { white-space: nowrap }
time { white-space: nowrap; font-variant-numeric: tabular-nums }
.note { color: var(--soft) }
.bad { color: var(--bad); font-weight: 600 }
.bad a { color: inherit }
.state { border-left: .35rem solid var(--well); background: var(--card); padding: .6rem 1rem; margin: 0 0 1.2rem; border-radius: .2rem }
.state.wrong { border-color: var(--bad) }
.state p, .state ul { margin: 0 }
.state ul { padding-left: 1.1rem }
.state li { margin: .25rem 0 }
.well { color: var(--well); font-weight: 600 }
.chart { display: block; width: 11rem; height: 1.8rem; overflow: visible }
.chart path { fill: none; stroke: light-dark(#0b57d0, #8ab4f8); stroke-width: 1.5; vector-effect: non-scaling-stroke }
.chart .out { stroke: var(--well); stroke-dasharray: 4 3 }
.big .chart { width: 100%; height: 8rem; border-bottom: 1px solid var(--line) }
figure { margin: 1rem 0 }
progress { width: 100%; min-width: 8rem }
form.filter, fieldset.filter { display: flex; flex-wrap: wrap; gap: .6rem .9rem; align-items: end }
form.filter > fieldset { flex: 1 }
form.filter label { display: grid; font-size: .93rem }
form.filter label:has([type=checkbox]) { display: block; padding-bottom: .35rem }
form.filter label:has([name=all]) { flex-basis: 100% }
fieldset { border: 1px solid var(--line); border-radius: .3rem; margin: 1rem 0; padding: .8rem }
details { margin: .4rem 0 }
details[open] { flex-basis: 100% }
details > div { display: flex; flex-wrap: wrap; gap: .6rem .9rem; padding-top: .5rem }
.observer form[method=post], .observer .act, .observer td input { display: none }
@media (max-width: 40rem) {
  nav form { margin-left: 0; flex-basis: 100% }
  nav input { flex: 1; min-width: 0 }
  input, select, button { min-height: 2.6rem }
  input[type=checkbox] { min-height: 0; width: 1.4rem; height: 1.4rem }
  form.filter label:not(:has([type=checkbox], select)) { flex: 1 1 12rem }
}
`);
