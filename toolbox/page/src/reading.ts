// Time to read what has just appeared.
import { useEffect, useState } from "preact/hooks";

const READING_MS = 1500;

/** Returns `true` once what has just appeared, changed or moved was there for long enough to be read. */
export function useRead(what: string | null): boolean {
  const [read, setRead] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setRead(what), READING_MS);
    return () => clearTimeout(timer);
  }, [what]);
  return what !== null && read === what;
}
