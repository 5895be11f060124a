// A large result: one part of it at a time, and the whole as a file.
import { useEffect, useState } from "preact/hooks";
import { download, post } from "./api";
import { saveFile } from "./save";
import { Block, bytes, number, visible } from "./text";

export interface LargeResult {
  /** The id of the call. */
  id: string;
  bytes: number;
  parts: number;
  part_bytes: number;
}

export function Large({ large }: { large: LargeResult }) {
  const [at, setAt] = useState(0);
  const [part, setPart] = useState({ at: -1, text: "" });
  const [word, say] = useState("");
  useEffect(() => {
    let current = true;
    post<{ text: string }>("/api/result", { id: large.id, part: at }).then(
      ({ text }) => current && (setPart({ at, text }), say("")),
      (error) => current && say(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      current = false;
    };
  }, [large.id, at]);
  const last = large.parts - 1;
  const save = async () => {
    say("Loading");
    try {
      saveFile("result", "txt", await download("/api/result/whole", { id: large.id }));
      say("Saved");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <p class="acts">
        <button type="button" disabled={at === 0} onClick={() => setAt(0)}>
          First
        </button>
        <button type="button" disabled={at === 0} onClick={() => setAt(at - 1)}>
          Before
        </button>
        <span role="status">
          Part {number(at + 1)} of {number(large.parts)}, {bytes(large.bytes)} in all
        </span>
        <button type="button" disabled={at === last} onClick={() => setAt(at + 1)}>
          Next
        </button>
        <button type="button" disabled={at === last} onClick={() => setAt(last)}>
          Last
        </button>
        <button type="button" onClick={save}>
          Download the whole
        </button>
        <span role="status">{visible(word)}</span>
      </p>
      {part.at >= 0 && <Block key={part.at} text={part.text} label={`Part ${number(part.at + 1)} of the result`} />}
    </>
  );
}
