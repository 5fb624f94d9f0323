import { escape } from "../console/html.js";

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { display: grid; place-content: center; min-height: 90vh; margin: 0 }
  main { width: min(22rem, 90vw) }
  h1 { font-size: 1.4rem }
  label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit }
  input, button { padding: .6rem; margin: .3rem 0 1rem }
  [role=alert] { color: #c62828; font-weight: 600 }`;

const page = (body: string, problem: string | null) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Queues</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Queues</h1>
${problem === null ? "" : `<p role="alert">${escape(problem)}</p>`}
${body}
</main>
</body>
</html>
`;

/** Where the forms of the sign-in go. */
interface SignIn {
  path: string;
  query: string;
}

/** The page that asks for a phone to send a code to. */
export const phonePage = ({ path, query }: SignIn, problem: string | null = null) =>
  page(
    `<form method="post" action="${escape(path + query)}">
<label for="phone">An admin's phone</label>
<input id="phone" name="phone" type="tel" autocomplete="tel" placeholder="+79991234567" required autofocus>
<button>Send a code</button>
</form>`,
    problem,
  );

/** The page that asks for the code sent to `phone`. */
export const codePage = ({ path, query }: SignIn, phone: string, problem: string | null = null) =>
  page(
    `<form method="post" action="${escape(`${path}/code${query}`)}">
<p>A code was sent to ${escape(phone)}.</p>
<input name="phone" type="hidden" value="${escape(phone)}">
<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="6" required autofocus>
<button>Sign in</button>
</form>
<p><a href="${escape(path + query)}">Use another phone</a></p>`,
    problem,
  );

/** The page that asks whether to sign out. */
export const signOutPage = (root: string) =>
  page(
    `<form method="post" action="${root}/sign-out">
<button autofocus>Sign out</button>
</form>
<p><a href="${root}">Back to the queues</a></p>`,
    null,
  );
