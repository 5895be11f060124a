// What a server printed and logged while a call of it ran.
import { Line, number } from "./text";

export interface ServerLine {
  /** The level of a log message; `null` for the error stream. */
  level: string | null;
  logger: string | null;
  text: string;
}

/** The most lines that are drawn, and kept of one call. */
export const MOST = 1000;

export function ServerLines({ lines }: { lines: ServerLine[] }) {
  if (lines.length === 0) {
    return null;
  }
  return (
    <details class="lines" open={lines.length <= 20}>
      <summary>
        {number(lines.length)} line{lines.length === 1 ? "" : "s"} that the server printed or logged meanwhile
      </summary>
      <div tabIndex={0} role="group" aria-label="Lines of the server">
        <ol>
          {lines.map((line, at) => (
            <li key={at}>
              <span class={/^(warn|err|crit|alert|emerg)/.test(line.level ?? "") ? "warn" : "quiet"}>{line.level ? <Line text={line.level} max={20} /> : "stderr"}</span>{" "}
              {line.logger && (
                <b>
                  <Line text={line.logger} max={60} />{" "}
                </b>
              )}
              <code>
                <Line text={line.text} max={4000} />
              </code>
            </li>
          ))}
        </ol>
      </div>
    </details>
  );
}
