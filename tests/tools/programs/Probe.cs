// A server and a client of .NET, with tasks: eight pages at once.
using System;
using System.Diagnostics;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading.Tasks;

class Probe {
    const int Size = 20000;

    static async Task Serve(TcpClient client) {
        using (client)
            await client.GetStream().WriteAsync(new byte[Size], 0, Size);
    }

    static async Task Fetch() {
        using (var client = new TcpClient()) {
            await client.ConnectAsync("h2", 7000);
            var piece = new byte[4096];
            int size = 0, count;
            while ((count = await client.GetStream().ReadAsync(piece, 0, piece.Length)) > 0)
                size += count;
            if (size != Size) throw new Exception(size.ToString());
        }
    }

    static void Main(string[] words) {
        if (words.Length > 0) {
            var listener = new TcpListener(IPAddress.Any, 7000);
            listener.Start();
            while (true) Serve(listener.AcceptTcpClient());
        }
        var watch = Stopwatch.StartNew();
        Task.WaitAll(Enumerable.Range(0, 8).Select(_ => Fetch()).ToArray());
        Console.WriteLine("8 pages in " + watch.Elapsed);
    }
}
