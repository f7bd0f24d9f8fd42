// Search in pages that are opened as files, where a browser starts no worker from a file.
if (location.protocol === "file:") {
  const text = "SEARCHER";
  const Started = window.Worker;
  window.Worker = function (_address, options) {
    return new Started(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), options);
  };
}
