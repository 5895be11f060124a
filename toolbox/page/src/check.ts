// The gate's word on a text while it is written.
import { useEffect, useState } from "preact/hooks";
import { post } from "./api";
import type { Fault } from "./form/index";

export interface Check {
  repairs?: string[];
  refusal?: string;
  code?: string | null;
  faults?: Fault[];
}

/** The time after the last key until the program is asked. */
const PAUSE_MS = 250;

/**
 * Checks the arguments of a tool, or the form of an entry that waits, at each change; also of the `version`. Nothing is
 * asked while `of` is `null`.
 */
export function useCheck(of: { tool: string } | { entry: number } | null, text: string, version = ""): [Check, (check: Check) => void] {
  const [check, setCheck] = useState<Check>({});
  const what = JSON.stringify(of);
  useEffect(() => {
    if (what === "null") {
      return;
    }
    let current = true;
    const timer = setTimeout(() => {
      post<Check>("/api/check", { ...JSON.parse(what), arguments: text }).then(
        (found) => current && setCheck(found),
        () => {},
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [what, text, version]);
  return [check, setCheck];
}
