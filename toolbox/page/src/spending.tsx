// The spending of principals by day and month, as the journal of the program has it.
import { useEffect, useState } from "preact/hooks";
import { Refusal, post } from "./api";
import { Chips } from "./choice";
import { Line, number, visible } from "./text";

interface Spent {
  principal: string;
  requests: number;
  calls: number;
  tokens: number;
  cost: string;
}

interface Spending {
  /** The name of the period: `2026-11`, `2026-11-29`. */
  period: string;
  /** Those with the most money first. */
  rows: Spent[];
  omitted: number;
}

const PERIODS = { Month: "month", Day: "day" } as const;
type Period = keyof typeof PERIODS;

/** Returns a time in the period that is so many before this one, in UTC as the journal counts. */
function timeOf(period: Period, before: number): number {
  const now = new Date();
  const [month, day] = period === "Month" ? [before, now.getUTCDate() - 1] : [0, before];
  return Math.max(0, Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - month, now.getUTCDate() - day));
}

export function Spending() {
  const [period, setPeriod] = useState<Period>("Month");
  const [before, setBefore] = useState(0);
  const [looks, look] = useState(0);
  const [found, setFound] = useState<Spending | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let current = true;
    post<Spending>("/api/spending", { period: PERIODS[period], time_ms: timeOf(period, before) }).then(
      (found) => current && (setFound(found), setFault("")),
      (error) => current && setFault(error instanceof Refusal ? error.message : "The program cannot be reached."),
    );
    return () => void (current = false);
  }, [period, before, looks]);
  return (
    <div class="one">
      <h2>Spending</h2>
      <Chips label="Period" values={Object.keys(PERIODS) as Period[]} value={period} onChange={(period) => (setPeriod(period), setBefore(0))}>
        <button type="button" onClick={() => setBefore(before + 1)}>
          Earlier
        </button>
        <button type="button" disabled={before === 0} onClick={() => setBefore(before - 1)}>
          Later
        </button>
        <button type="button" onClick={() => look(looks + 1)}>
          Look again
        </button>
      </Chips>
      {fault && (
        <p class="bad" role="alert">
          {visible(fault)}
        </p>
      )}
      {found && (
        <>
          <p role="status">
            {found.rows.length === 0 ? "Nothing was spent in " : "Spent in "}
            {found.period}, by the calendar of UTC
          </p>
          {found.rows.length > 0 && <Rows rows={found.rows} />}
          {found.omitted > 0 && <p class="quiet">{number(found.omitted)} more principals are not shown.</p>}
        </>
      )}
    </div>
  );
}

function Rows({ rows }: { rows: Spent[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Spending by principal">
      <table>
        <thead>
          <tr>
            {["Principal", "Cost", "Requests", "Calls", "Tokens"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.principal}>
              <td>{row.principal === "" ? <span class="quiet">no principal</span> : <Line text={row.principal} max={200} />}</td>
              <td>{row.cost}</td>
              <td class="num">{number(row.requests)}</td>
              <td class="num">{number(row.calls)}</td>
              <td class="num">{number(row.tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
