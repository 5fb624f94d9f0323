// The search, the login and the reference of this page. Its tokens are kept until the tab is closed.

const at = (id) => document.getElementById(id);
const keptAs = "api-docs-session";

/** Who sends requests: an access token or service key, and what renews it; null for nobody. */
let session = JSON.parse(sessionStorage.getItem(keptAs) ?? "null");

function keep(next) {
  session = next;
  if (next === null) sessionStorage.removeItem(keptAs);
  else sessionStorage.setItem(keptAs, JSON.stringify(next));
  at("account").querySelector("summary").textContent = next === null ? "Log in" : "Logged in";
  at("phone-form").hidden = at("token-form").hidden = next !== null;
  at("leave-form").hidden = next === null;
  at("code-form").hidden = true;
}

/** Calls an endpoint of the login; throws its refusal's text. */
async function call(path, body) {
  const response = await fetch(`/api/v1/auth/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const answer = text === "" ? {} : JSON.parse(text);
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

const sessionOf = ({ accessToken, refreshToken, expiresIn }) => ({
  token: accessToken,
  refreshToken,
  endsAt: Date.now() + expiresIn * 1_000,
});

/** Ends a token this long before it expires, so that a request with it arrives in time. */
const EARLY_MS = 30_000;
let renewal = null;

/** Exchanges the refresh token when the access token is about to expire; requests at once share the exchange. */
async function renew() {
  if (session?.endsAt === undefined || session.endsAt - EARLY_MS > Date.now()) return;
  const { refreshToken } = session;
  renewal ??= call("token/refresh", { refreshToken })
    .then((tokens) => keep(sessionOf(tokens)))
    .catch((error) => {
      keep(null);
      at("account").open = true;
      at("message").textContent = error.message;
    })
    .finally(() => (renewal = null));
  await renewal;
}

function onSubmit(id, act) {
  at(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = at(id).querySelector("button");
    button.disabled = true;
    at("message").textContent = "";
    try {
      await act();
    } catch (error) {
      at("message").textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

onSubmit("phone-form", async () => {
  const { message } = await call("otp/send", { phone: at("phone").value });
  at("message").textContent = message;
  at("code-form").hidden = false;
  at("code").focus();
});
onSubmit("code-form", async () => {
  const phone = at("phone").value;
  keep(sessionOf(await call("otp/verify", { phone, code: at("code").value })));
  at("account").open = false;
  at("code").value = "";
});
onSubmit("token-form", async () => {
  keep({ token: at("token").value.trim() });
  at("account").open = false;
  at("token").value = "";
});
onSubmit("leave-form", async () => {
  const { refreshToken } = session;
  keep(null);
  if (refreshToken !== undefined) await call("logout", { refreshToken });
});
keep(session);

/** The reasons for which an operation refuses a request: its responses have an example of each. */
const reasonsOf = (document, responses) =>
  Object.values(responses)
    .map((response) => document.components.responses[response.$ref?.split("/").at(-1)] ?? response)
    .flatMap(({ content }) => Object.keys(content?.["application/problem+json"]?.examples ?? {}));

/** Every operation, with the words by which it is found. */
const wordsOf = (document) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId, summary, description = "", tags, responses }]) => ({
      key: `${method} ${path}`,
      id: operationId.toLowerCase(),
      name: [method, path, operationId].join(" ").toLowerCase(),
      text: [method, path, operationId, summary, description, ...tags].join(" ").toLowerCase(),
      reasons: reasonsOf(document, responses).join(" ").toLowerCase(),
    })),
  );

/** Whether an operation has a word. Only one with an underscore is looked for in the reasons, which many operations share. */
const has = (word, { text, reasons }) => text.includes(word) || (word.includes("_") && reasons.includes(word));

/** How well an operation that has all the words fits them; less is better: its id itself, then words in its id and path. */
const rankOf = (words, { id, name }) =>
  id === words.join("") ? -1 : words.filter((word) => !name.includes(word)).length;

/** The operations that are shown, each with its rank; null: all. */
let shown = null;
const rankOfShown = (each) => shown?.get(`${each.get("method")} ${each.get("path")}`);

/** Swagger UI's own filter knows sections and paths only, and leaves sections closed and in their order. */
const search = {
  fn: {
    opsFilter: (sections) =>
      sections
        .map((section) =>
          section.update("operations", (all) =>
            all.filter((each) => rankOfShown(each) !== undefined).sortBy(rankOfShown),
          ),
        )
        .filter((section) => section.get("operations").size > 0)
        .sortBy((section) => rankOfShown(section.get("operations").first())),
  },
  statePlugins: {
    layout: {
      wrapSelectors: {
        isShown: (isShown) => (_state, place, otherwise) =>
          (shown !== null && place[0] === "operations-tag") || isShown(place, otherwise),
      },
    },
  },
};

/** Swagger UI says of a search without a result that the document is empty. */
const withoutResult = {
  wrapComponents: {
    operations:
      (Operations, { React: { createElement } }) =>
      (properties) =>
        shown?.size === 0
          ? createElement("p", null, "No operation has all these words.")
          : createElement(Operations, properties),
  },
};

/** The header of this page says who sends requests. */
const withoutAuthorize = { components: { authorizeBtn: () => null, authorizeOperationBtn: () => null } };

/** The document with one of its paths, and with those components only that it refers to. */
function partOf(document, [section, path]) {
  const { securitySchemes } = document.components;
  const components = { securitySchemes };
  const add = (value) => {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w.-]+)"/g)) {
      const known = (components[kind] ??= {});
      if (name in known) continue;
      known[name] = document.components[kind][name];
      add(known[name]);
    }
  };
  const item = document[section][path];
  add(item);
  return { ...document, paths: {}, webhooks: {}, [section]: { [path]: item }, components };
}

/**
 * Swagger UI parses the document as YAML, and resolves all of it at the start, for the security schemes, and again for each operation
 * that is opened. But it is parsed already, this page does not show the schemes, and an operation needs a small part: four times as
 * fast.
 */
const quick =
  (document) =>
  ({ fn: { resolveSubtree } }) => ({
    fn: {
      resolveSubtree: (resolved, path, options) => resolveSubtree(partOf(resolved, path), path, options),
    },
    statePlugins: {
      spec: {
        wrapActions: {
          parseToJson:
            (_parse, { specActions }) =>
            () =>
              specActions.updateJsonSpec(document),
          requestResolvedSubtree: (request) => (path) => (path[0] === "components" ? () => {} : request(path)),
        },
      },
    },
  });

async function start() {
  const response = await fetch("/api/v1/openapi.json");
  if (!response.ok) throw new Error(`The document cannot be read: ${response.status}`);
  // requests go to the address that the page came from, as its policy allows no other
  const document = { ...(await response.json()), servers: [{ url: location.origin }] };
  const operations = wordsOf(document);
  const ui = SwaggerUIBundle({
    spec: document,
    dom_id: "#reference",
    deepLinking: true,
    validatorUrl: null,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    filter: true,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [search, withoutResult, withoutAuthorize, quick(document)],
    requestInterceptor: async (request) => {
      await renew();
      if (session !== null) request.headers.Authorization = `Bearer ${session.token}`;
      return request;
    },
  });

  at("search").addEventListener("input", () => {
    const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = operations.filter((each) => words.every((word) => has(word, each)));
    shown = words.length === 0 ? null : new Map(found.map((each) => [each.key, rankOf(words, each)]));
    at("found").textContent = shown === null ? "" : `${found.length} of ${operations.length}`;
    at("reference").classList.toggle("searching", shown !== null);
    ui.layoutActions.updateFilter(words.length === 0 ? true : words.join(" "));
  });
}

start().catch((error) => (at("reference").textContent = error.message));
