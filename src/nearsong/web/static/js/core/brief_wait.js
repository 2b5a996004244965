// Waits a moment for promises, and then goes on without them.
//
//   wait.begin(promises, goOn)   goOn runs when all are settled, or after MAX_MILLISECONDS
//   wait.on                      whether it waits
//   wait.end() -> whether it did; goOn runs now
//   wait.cancel()                goOn never runs

const MAX_MILLISECONDS = 1500; // nobody waits longer for what a button does

export class BriefWait {
  #goOn = null;

  get on() {
    return Boolean(this.#goOn);
  }

  begin(promises, goOn) {
    this.#goOn = goOn;
    const late = new Promise((done) => setTimeout(done, MAX_MILLISECONDS));
    Promise.race([Promise.allSettled(promises), late]).then(() => this.#goOn === goOn && this.end());
  }

  end() {
    const goOn = this.#goOn;
    this.#goOn = null;
    goOn?.();
    return Boolean(goOn);
  }

  cancel() {
    this.#goOn = null;
  }
}
