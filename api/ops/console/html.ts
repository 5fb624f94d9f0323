const escaped: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
/** Text that is safe in HTML. */
export const escape = (text: string) => text.replace(/[&<>"']/g, (character) => escaped[character] ?? "");

/** HTML that `html` has made, and so is safe. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type Value = Html | string | number | null | readonly Html[];

const markupOf = (value: Value): string => {
  if (value === null) return "";
  if (value instanceof Html) return value.toString();
  return typeof value === "object" ? value.join("\n") : escape(String(value));
};

/** Makes HTML: values are escaped unless they are HTML themselves; null is nothing. */
export const html = ({ raw }: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(String.raw({ raw }, ...values.map(markupOf)));
