import { type Enum, enums } from "../../../lib/domain/enums.js";
import type { JobFilter } from "../../../sql/operators/jobs.js";
import { argumentText } from "../../common/argument.js";
import { fitsState, isLimited } from "../../common/operate.js";
import { type Html, html } from "./html.js";
import { consent, time } from "./frame.js";

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

/** Which jobs or events are meant. */
export interface Meant extends JobFilter {
  state: Enum<"bulkActionState">;
  partnerId: string | null;
}

/** Says which jobs or events are meant. */
export const wordsOf = ({
  state,
  queue,
  error,
  argument,
  partnerId,
  stagedFrom,
  stagedBefore,
  minAttempts,
}: Meant): Html =>
  html`${
    state === "PARKED"
      ? `parked POS events of ${partnerId === null ? "every partner" : `partner ${partnerId}`}`
      : `${state.toLowerCase()} jobs of ${queue === null ? "every queue" : `the queue ${queue}`}`
  }${argument === null ? null : `, with ${argumentText(argument)}`}${error === null ? null : `, error contains “${error}”`}${stagedFrom && html`, staged from ${time(stagedFrom)}`}${stagedBefore && html`, staged before ${time(stagedBefore)}`}${minAttempts === null ? null : `, at least ${minAttempts} attempts`}`;

/** What the box below says when no condition limits what is meant: a form that has lost its conditions does nothing. */
export const EVERYTHING = "everything";

/** The box that chooses all that match, and says what that is. */
export const allChooser = (meant: Meant): Html =>
  html`<label
    ><input type="checkbox" name="all" value="${isLimited(meant) ? "on" : EVERYTHING}" />
    ${isLimited(meant) ? "All that match, however many" : "All, however many"}: ${wordsOf(meant)}</label
  >`;

/** The form that the checkboxes of a table belong to: they are outside of it, as who only looks sees the table without the form. */
export const chosenForm = "act";

/** The box that chooses a row. */
export const chooser = (label: string, id: number): Html =>
  html`<input form="${chosenForm}" type="checkbox" name="ids" value="${id}" aria-label="${label} ${id}" />`;
