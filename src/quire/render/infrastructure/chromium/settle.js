// The document at rest: its script says it is ready, every font it declares is loaded, every animation is where it ends (or, endless, where it
// began). Says whether the document left something behind that the next one in this page would feel: a policy, a
// chosen style sheet set, a spent autofocus. Opening a document anew does not take those away.
async () => {
  const settle = (animation) => {
    if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish();
    else animation.cancel();
  };
  // It moves by means that are not told to anybody: its text is printed in place.
  const still = (marquee) => {
    const box = marquee.ownerDocument.createElement("div");
    for (const { name, value } of marquee.attributes) box.setAttribute(name, value);
    box.append(...marquee.childNodes);
    marquee.replaceWith(box);
  };
  // Autofocus comes with some later frame, before or after printing; once something has it, nothing else gets it. The
  // caret blinks, and is gone without a selection.
  const focus = (shown) => {
    for (const wanting of shown.querySelectorAll("[autofocus]")) {
      wanting.focus();
      if (shown.activeElement === wanting) break;
    }
    shown.getSelection()?.removeAllRanges();
  };
  const rest = async (shown) => {
    focus(shown);
    shown.querySelectorAll("marquee").forEach(still);
    shown.getAnimations().forEach(settle);
    for (const drawing of shown.querySelectorAll("svg")) {
      drawing.pauseAnimations?.();
      drawing.setCurrentTime?.(0);
    }
    const inner = Array.from(shown.querySelectorAll("iframe, frame, object"), (frame) => frame.contentDocument);
    await Promise.all(inner.filter(Boolean).map(rest));
    await Promise.allSettled(Array.from(shown.fonts, (face) => face.load()));
    await shown.fonts.ready;
  };
  await globalThis.quireReady;
  await rest(document);
  return document.querySelector("[http-equiv], style[title], link[title], [autofocus]") !== null;
};
