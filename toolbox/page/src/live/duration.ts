// The time that a call took.
import { milliseconds } from "../text";
import type { Call } from "./log";

export function duration(call: Call): string {
  return call.took === null ? "" : milliseconds(call.took);
}
