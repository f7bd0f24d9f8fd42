// GET each URL by fetch, three seconds apart.
for (const [index, url] of process.argv.slice(2).entries()) {
  if (index) await new Promise((resolve) => setTimeout(resolve, 3000));
  await (await fetch(url)).text();
}
