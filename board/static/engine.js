// What the engine of this page does now: one thing at a time, the newest wish.

export class Engine {
  constructor(link) {
    this.link = link;
    this.job = null;
    this.net = "";
  }

  // job: {key, type, fields, hear(message)}, or null to rest. A job with the key of the running one changes nothing.
  want(job) {
    if ((job?.key ?? null) === (this.job?.key ?? null)) return;
    const before = this.job;
    this.job = job;
    if (job) this.send(job);
    else if (before) this.link.tell("stop", {});
  }

  send(job) {
    this.link.listen(job.type, job.fields, (message) => {
      if (this.job === job) job.hear(message);
    });
  }

  // After a new connection the running job is asked again from its beginning.
  resume() {
    if (this.job) this.send(this.job);
  }

  // The running job has got its answer, or will get none.
  forget() {
    this.job = null;
  }
}
