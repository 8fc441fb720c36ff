// Browsers start no worker from a file: the search runs in a hidden frame there. Only pages that are opened as files use this.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!DOCTYPE html><title></title>");
      inside.document.close();
      const answer = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.postMessage = data => setTimeout(answer, 0, data);
      inside.importScripts = (...urls) =>
        Promise.all(urls.map(each => this.load(new URL(each, url))));
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        this.frame.contentDocument.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
}
