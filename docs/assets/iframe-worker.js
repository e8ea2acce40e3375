// The search of the site runs in a worker. Browsers refuse workers to pages that are opened from the disk, so there a hidden
// frame runs the worker's script: it reads the same messages, and its answers are passed on as those of a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.appendChild(this.frame);
      const page = this.frame.contentDocument;
      page.open();
      page.write(`<script>
        postMessage = parent.postMessage.bind(parent);
        importScripts = (...urls) => Promise.all(urls.map((src) => new Promise((done) => {
          document.body.appendChild(Object.assign(document.createElement("script"), { src, onload: done }));
        })));
      </script><body><script src="${url}"></script>`);
      page.close();
      addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const answer = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(answer);
        if (this.onmessage) this.onmessage(answer);
      });
    }
    postMessage(data) {
      const send = () => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      this.frame.contentDocument.readyState === "complete" ? send() : this.frame.addEventListener("load", send);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
