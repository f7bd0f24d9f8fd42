// A server and a client of node:http.
const http = require("node:http");

function fetched() {
    return new Promise((resolve, reject) => {
        http.get("http://h2:7000/", (reply) => {
            let size = 0;
            reply.on("data", (piece) => (size += piece.length)).on("end", () => resolve(size));
        }).on("error", reject);
    });
}

if (process.argv[2] === "server") {
    http.createServer((_request, reply) => reply.end("x".repeat(20000))).listen(7000);
} else {
    const begun = process.hrtime.bigint();
    Promise.all(Array.from({ length: 8 }, fetched)).then((sizes) => {
        if (sizes.some((size) => size !== 20000)) process.exit(1);
        console.log(`8 pages in ${Number(process.hrtime.bigint() - begun) / 1e9} s`);
    });
}
