// GET each URL by the http module and its default agent, three seconds apart.
import http from "node:http";

const get = (url) =>
  new Promise((resolve, reject) => {
    const request = http.get(url, (answer) => answer.resume().on("end", resolve));
    request.on("error", reject);
  });
for (const [index, url] of process.argv.slice(2).entries()) {
  if (index) await new Promise((resolve) => setTimeout(resolve, 3000));
  await get(url);
}
