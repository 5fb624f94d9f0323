import { type Enum, enums } from "../../../lib/domain/enums.js";
import { fitsState } from "../../common/operate.js";
import { type Html, html } from "./html.js";
import { consent } from "./frame.js";

const labels: Readonly<Record<Enum<"bulkActionKind">, string>> = {
  REPLAY: "Replay",
  DISMISS: "Dismiss",
  RUN: "Run now",
  SNOOZE: "Snooze",
  CANCEL: "Cancel",
};

const button = (kind: keyof typeof labels) => html`<button name="kind" value="${kind}">${labels[kind]}</button>`;

/** The fields and buttons for jobs or events in this state. */
export const buttonsFor = (state: Enum<"bulkActionState">): Html =>
  html`${consent}
  ${fitsState("SNOOZE", state) ? html`<label>Snooze until, UTC <input name="until" type="datetime-local" /></label>` : null}
  ${enums.bulkActionKind.filter((kind) => fitsState(kind, state)).map(button)}`;

/** The form that the checkboxes of a table belong to: they are outside of it, as who only looks sees the table without the form. */
export const chosenForm = "act";

/** The box that chooses a row. */
export const chooser = (label: string, id: number): Html =>
  html`<input form="${chosenForm}" type="checkbox" name="ids" value="${id}" aria-label="${label} ${id}" />`;
