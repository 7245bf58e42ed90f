// The document at rest: every font it declares is loaded, every animation is where it ends (or, endless, where it
// began). Says whether the document left something behind that the next one in this page would feel: a policy, a
// chosen style sheet set, a spent autofocus. Opening a document anew does not take those away.
async () => {
  for (const animation of document.getAnimations()) {
    const { endTime } = animation.effect.getComputedTiming();
    if (Number.isFinite(endTime)) animation.finish();
    else animation.cancel();
  }
  for (const drawing of document.querySelectorAll("svg")) {
    drawing.pauseAnimations?.();
    drawing.setCurrentTime?.(0);
  }
  await Promise.allSettled(Array.from(document.fonts, (face) => face.load()));
  await document.fonts.ready;
  return document.querySelector("[http-equiv], style[title], link[title], [autofocus]") !== null;
};
