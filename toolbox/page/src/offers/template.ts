// Templates of URIs (RFC 6570), with a text for each variable.

interface Operator {
  first: string;
  between: string;
  named: boolean;
  /** A name without a value: `?a=`, and not `;a`. */
  empty: string;
  reserved: boolean;
}

const PLAIN: Operator = { first: "", between: ",", named: false, empty: "", reserved: false };
const OPERATORS: Record<string, Operator> = {
  "+": { ...PLAIN, reserved: true },
  "#": { ...PLAIN, first: "#", reserved: true },
  ".": { ...PLAIN, first: ".", between: "." },
  "/": { ...PLAIN, first: "/", between: "/" },
  ";": { ...PLAIN, first: ";", between: ";", named: true },
  "?": { ...PLAIN, first: "?", between: "&", named: true, empty: "=" },
  "&": { ...PLAIN, first: "&", between: "&", named: true, empty: "=" },
};

function encoded(value: string, reserved: boolean): string {
  const plain = encodeURIComponent(value).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  return reserved ? plain.replace(/%(?:21|23|24|26|27|28|29|2A|2B|2C|2F|3A|3B|3D|3F|40|5B|5D)/g, decodeURIComponent) : plain;
}

/** Returns the URI with these values; a variable without one is left out. */
export function expand(template: string, values: Record<string, string>): string {
  return template.replace(/\{([+#./;?&]?)([^{}]*)\}/g, (_, sign: string, names: string) => {
    const operator = OPERATORS[sign] ?? PLAIN;
    const parts = names.split(",").flatMap((spec) => {
      const [, name = "", length] = /^(.*?)(?:\*|:(\d+))?$/.exec(spec) ?? [];
      const given = Object.hasOwn(values, name) ? values[name]! : "";
      if (!given) {
        return [];
      }
      const value = encoded(length ? [...given].slice(0, Number(length)).join("") : given, operator.reserved);
      return [operator.named ? `${name}${value ? `=${value}` : operator.empty}` : value];
    });
    return parts.length ? operator.first + parts.join(operator.between) : "";
  });
}
