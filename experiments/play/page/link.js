// A link holds everything: #bw=10mbit&delay=20ms…, what side B changes as b.loss=1%, a lesson.

export function toLink({ sides, compared, moved, lesson, step }, defaults) {
  const parts = new URLSearchParams();
  const kept = compared ? "A" : moved;
  for (const [name, value] of Object.entries(sides[kept])) {
    if (value !== defaults[name]) parts.set(name, value);
  }
  for (const [name, value] of compared ? Object.entries(sides.B) : []) {
    if (value !== sides.A[name]) parts.set(`b.${name}`, value);
  }
  if (compared) parts.set("moved", moved);
  if (lesson) {
    parts.set("lesson", lesson);
    parts.set("step", String(step + 1));
  }
  return `#${parts}`;
}

export function fromLink(hash, defaults) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const known = ([name]) => name in defaults;
  const A = { ...defaults, ...Object.fromEntries([...parts].filter(known)) };
  const ofB = [...parts].map(([name, value]) => [name.replace(/^b\./, ""), value, name]);
  const changes = ofB.filter(([name, , whole]) => whole.startsWith("b.") && name in defaults);
  const B = { ...A, ...Object.fromEntries(changes.map(([name, value]) => [name, value])) };
  const compared = changes.length > 0 || parts.has("moved");
  const moved = compared && parts.get("moved") !== "A" ? "B" : "A";
  const step = Math.max(0, Number(parts.get("step") || 1) - 1) || 0;
  return { sides: { A, B }, compared, moved, lesson: parts.get("lesson") || "", step };
}
