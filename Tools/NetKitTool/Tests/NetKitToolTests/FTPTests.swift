import Foundation
import Glibc
import NetKit
import Peers
import Testing

@testable import netkit

/// The verbs for FTP, with pyftpdlib.
struct FTPTests {
    /// Runs a shell script in a new folder. In it, `nk VERB …` runs netkit with the login, and `$url` is a directory of the server.
    private func run(_ script: String) async throws -> Tool.Run {
        let server = PyFTPServer()
        try server.start()
        let folder = try TemporaryFolder()
        return try await Tool.run(
            shell: """
                cd '\(folder.path)' || exit
                url='\(server.url())files/'
                nk() { verb=$1; shift; "$netkit" "$verb" -u 'ann:open sesame' "$@" </dev/null 2>&1; }
                mkdir -p s/a/b && echo one >s/1.txt && echo two >s/2.txt && echo x >s/a/x.log && echo y >s/a/b/y
                touch -d '2020-05-06 07:08:09 UTC' s/1.txt
                \(script)
                """)
    }

    @Test("several URLs of a server share a login, which ends with QUIT") func logins() async throws {
        let server = PyFTPServer()
        try server.start()
        try server.write("a.txt", Array("a\n".utf8))
        try server.write("b.txt", Array("b\n".utf8))
        let (login, url) = (["-u", "ann:open sesame"], "\(server.url())files/")
        let run = try await Tool.run(["get"] + login + ["\(url)a.txt", "\(url){b,none}.txt"])
        #expect(run.status == 22 && run.output == "a\nb\n", "\(run.text)")
        let commands = server.commands()
        #expect(commands.count { $0.hasPrefix("USER ") } == 1 && commands.last == "QUIT", "\(commands)")
        let list = try await Tool.run(["ls"] + login + [url])
        #expect(
            list.output == "a.txt\nb.txt\n" && server.commands().last == "QUIT", "\(list.text) \(server.commands())")
    }

    @Test(
        ";type= is honoured",
        arguments: [("a.txt;type=a", "TYPE A"), ("a.txt;type=i", "TYPE I"), (";type=d", "MLSD")])
    func types(_ path: String, _ command: String) async throws {
        let server = PyFTPServer()
        try server.start()
        try server.write("a.txt", Array("a\n".utf8))
        let run = try await Tool.run(["get", "-u", "ann:open sesame", "\(server.url())files/\(path)"])
        #expect(run.status == 0 && run.output.contains("a"), "\(run.text)")
        let commands = server.commands()
        #expect(commands.contains { $0.hasPrefix(command) }, "\(commands)")
    }

    /// The file on the server has become shorter than the part that is here.
    @Test func aPartOfAnotherFileIsReplaced() async throws {
        let server = PyFTPServer()
        try server.start()
        try server.write("a.txt", Array("new\n".utf8))
        let folder = try TemporaryFolder()
        try folder.write("longer than it is\n", to: "file.part")
        let run = try await Tool.run([
            "get", "--resume", "-o", folder.file("file"), "-u", "ann:open sesame", "\(server.url())files/a.txt",
        ])
        let names = try folder.names
        #expect(run.status == 0 && names == ["file"], "\(run.text)")
        #expect(try String(contentsOfFile: folder.file("file"), encoding: .utf8) == "new\n")
    }

    /// While a password is typed, other transfers go on.
    @Test(.timeLimit(.minutes(5))) func aClientIsMadeOffTheEventLoop() async throws {
        let (clients, url) = (FTPClients(), try #require(URL(string: "ftp://ann@127.0.0.1/")))
        let (hasAsked, answer) = (OneShot<Void>(), OneShot<Void>())
        try await withNetworkExecutor {
            async let client = clients.client(for: url) {
                hasAsked.provide(())
                try answer.value()
                return try FTPClient(url)
            }
            try await hasAsked.value()
            answer.provide(())
            let (first, second) = try await (client, clients.client(for: url) { throw CancellationError() })
            #expect(first === second)
        }
    }

    /// As a disk that does not answer, it stops nothing else: here, the timer of the limit.
    @Test func aPipeWithoutAWriterIsNotOpenedOnTheEventLoop() async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.file("pipe"), 0o600) == 0)
        let run = try await Tool.run(["put", "--timeout", "0.2", folder.file("pipe"), "ftp://127.0.0.1:9/x"])
        #expect(run.status == 28 && run.errors.contains("Timed out after"), "\(run.text)")
    }

    /// An old server does not know SIZE, but lists its files.
    @Test func anUploadIsContinuedWithoutSIZE() async throws {
        let server = PyFTPServer(lacking: ["SIZE", "MLST", "MLSD"])
        try server.start()
        try server.write("part", Array("on".utf8))
        let folder = try TemporaryFolder()
        let file = try folder.write("one\n", to: "one")
        for (name, count) in [("part", 2), ("new", 4)] {
            let url = "\(server.url())files/\(name)"
            let run = try await Tool.run(["put", "--json", "--resume", "-u", "ann:open sesame", file, url])
            #expect(run.status == 0 && run.output.contains("\"bytes\":\(count)"), "\(run.text)")
            let whole = try await Tool.run(["get", "-u", "ann:open sesame", url])
            #expect(whole.output == "one\n", "\(whole.text)")
        }
    }

    @Test func treesAreMirrored() async throws {
        let run = try await run(
            """
            nk put -r s "${url}t"
            nk put -r -N s "${url}t" | grep -o '4 already complete'
            nk get -r -N --sessions 3 -o d "${url}t"
            stat -c %Y d/1.txt
            rm s/2.txt && mkdir d/more && echo z >d/more/z
            nk put -r -N --delete s "${url}t" | grep -o '3 already complete, 1 deleted'
            nk get -r --newer --delete -o d "${url}t" | grep -o '3 already complete, 3 deleted'
            diff -r s d && echo identical
            """)
        #expect(run.output.contains("4 files, 3 folders") && run.output.contains("1588748889\n"), "\(run.text)")
        #expect(
            run.output.hasSuffix("3 already complete, 1 deleted\n3 already complete, 3 deleted\nidentical\n"),
            "\(run.text)")
    }

    @Test(
        "ftps on another port: a silent server gets TLS from the first byte, another one AUTH TLS",
        arguments: [true, false])
    func bothKindsOfTLS(_ isImplicit: Bool) async throws {
        let server = Vsftpd(isImplicit ? .implicit : .explicit)
        try server.start()
        let root = try CertificateAuthority.shared().root
        let url = "ftps://localhost:\(server.port)/"
        let run = try await Tool.run(["ls", "--cacert", root, "--timeout", "60", url])
        #expect(run.status == 0, "\(run.text)")
    }

    @Test func aLocalFolderThatCannotBeMade() async throws {
        let run = try await run(#"nk put -r s "${url}t" && nk get -r -o /dev/full "${url}t"; echo "status $?""#)
        #expect(run.output.contains("/dev/full cannot be created") && run.output.contains("status 23"), "\(run.text)")
    }

    @Test func theRootIsNotDeleted() async throws {
        let run = try await run(
            #"root="${url%files/}"; nk rm -r "$root"; echo "status $?"; nk rm -r "$root."; nk put s/1.txt "${url}a" && nk get "${url}a""#
        )
        #expect(run.output.contains("rm -r does not delete the root directory"), "\(run.text)")
        #expect(run.output.contains("status 64") && run.output.hasSuffix("one\n"), "\(run.text)")
    }

    /// The size of a file is limited, which fails as a full disk does.
    @Test func aFullDisk() async throws {
        let run = try await run(
            #"nk put -r s "${url}t" && head -c 100000 /dev/zero >s/big && nk put s/big "${url}t/big" && trap '' XFSZ && ulimit -f 64 && nk get -r -o got "${url}t"; echo "status $?""#
        )
        #expect(run.text.contains("got/big cannot be written: File too large."), "\(run.text)")
        #expect(run.output.contains("status 23"), "\(run.text)")
    }

    /// What was skipped is reported, also by the exit code.
    @Test func skippedEntries() async throws {
        let run = try await run("ln -s /etc s/link; nk put -r s \"${url}t\"; echo $?")
        #expect(run.output.contains("skipped s/link: symbolic link or special file"), "\(run.text)")
        #expect(run.output.hasSuffix("\n18\n"), "\(run.text)")
    }

    @Test func renamesToAURL() async throws {
        let run = try await run(
            #"nk put s/1.txt "${url}a" && nk mv "${url}a" "${url}b c" && nk mv "${url}b%20c" files/d && nk get "${url}d""#
        )
        #expect(run.output.hasSuffix("one\n"), "\(run.text)")
    }

    @Test func wildcards() async throws {
        let run = try await run(
            """
            nk put -r s "${url}t" >/dev/null
            nk ls "${url}t/*.txt"
            nk ls "${url}t/?/?.log"
            nk ls -lh "${url}t/1*" | grep -o '4 B .*'
            mkdir down && nk get -o down "${url}t/*.txt" && ls down
            cd down && nk get -O "${url}t/*/x*" && cat x.log
            nk rm "${url}t/*.txt" && nk ls "${url}t/"
            nk ls "${url}t/*.txt"; echo $?
            nk get "${url}t/*"; echo $?
            """)
        #expect(
            run.output.hasPrefix(
                """
                files/t/1.txt
                files/t/2.txt
                files/t/a/x.log
                4 B 2020-05-06 07:08Z files/t/1.txt
                1.txt
                2.txt
                x
                a
                """), "\(run.text)")
        #expect(run.output.contains("Nothing on the server matches") && run.output.contains("\n22\n"), "\(run.text)")
        #expect(run.output.contains("A URL with wildcards requires -O"), "\(run.text)")
    }

    /// A match that fails is skipped, the others go on, and the status is that of an incomplete tree.
    @Test func aMatchThatFailsCostsItself() async throws {
        let run = try await run(
            """
            nk put -r s "${url}t" >/dev/null && mkdir -p down/1.txt
            nk get --json -o down "${url}t/*.txt"; echo "get $?" && cat down/2.txt
            nk mkdir -p "${url}r/full/x" && nk mkdir "${url}r/void"
            nk rm "${url}r/*/"; echo "rm $?" && nk ls "${url}r/"
            nk rm "${url}r/*/"; echo "only $?"
            """)
        #expect(
            run.output.contains("skipped files/t/1.txt: down/1.txt cannot be written: Is a directory."), "\(run.text)")
        #expect(run.output.contains("\"skipped\":[{\"path\":\"files/t/1.txt\""), "\(run.text)")
        #expect(run.output.contains("get 18\ntwo\n"), "\(run.text)")
        #expect(run.output.contains("skipped files/r/full: ") && run.output.contains("rm 18\nfull\n"), "\(run.text)")
        // One that is alone has its own status.
        #expect(run.output.hasSuffix("only 22\n"), "\(run.text)")
    }

    /// The server lists a link that leads nowhere, and refuses to send it.
    @Test func aRefusedMatchCostsItself() async throws {
        let server = PyFTPServer(lacking: ["MLST", "MLSD"])
        try server.start()
        let folder = try TemporaryFolder()
        for name in ["a", "c"] { try server.write(name, Array(name.utf8)) }
        try server.link("b", to: "/nowhere/at/all")
        let run = try await Tool.run([
            "get", "-u", "ann:open sesame", "-o", folder.path, "\(server.url())files/*",
        ])
        #expect(run.status == 18 && run.errors.contains("skipped files/b: The server refused RETR"), "\(run.text)")
        #expect(try folder.names == ["a", "c"])
    }

    @Test func aFileIsListed() async throws {
        let run = try await run(
            """
            nk put s/1.txt "${url}one.txt" && nk put s/2.txt "${url}two.txt"
            nk ls "${url}one.txt"
            nk ls -l "${url}two.txt" | grep -o '4 2.* two.txt' | wc -l
            nk ls --json "${url}one.txt" | grep -c '"name":"one.txt"'
            nk ls "${url}one.txt/"; echo $?
            nk ls "${url}none.txt"; echo $?
            """)
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "one.txt" && lines.count { $0 == "1" } == 2, "\(run.text)")
        #expect(lines.count { $0 == "22" } == 2 && lines.count { $0 == "one.txt" } == 1, "\(run.text)")
    }

    /// 20000 bytes at 40000 bytes per second.
    @Test func anUploadBelowARate() async throws {
        let run = try await run(
            """
            head -c 20000 /dev/zero >big
            nk put --json --limit-rate 40000 big "${url}big"
            nk ls -l "${url}big" | grep -o ' 20000 '
            """)
        let start = try #require(run.output.range(of: "\"seconds\":"))
        let seconds = Double(run.output[start.upperBound...].prefix { $0.isNumber || $0 == "." })
        #expect(seconds.map { $0 >= 0.4 } == true && run.output.hasSuffix(" 20000 \n"), "\(run.text)")
    }

    /// A proxy that accepts the connection and does not answer.
    @Test func aLimitForConnecting() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        defer { server.stop() }
        let run = try await Tool.run([
            "put", "--connect-timeout", "0.3", "-x", "socks5://127.0.0.1:\(server.port)", "-u", "a:b", "/etc/hosts",
            "ftp://192.0.2.1/x",
        ])
        #expect(run.status == 28 && run.errors.contains("waiting for the proxy"), "\(run.text)")
    }

    @Test func treesAreMadeAndRemoved() async throws {
        let run = try await run(
            """
            nk mkdir -p "${url}p/q/r" && nk mkdir -p "${url}p/q/r" && nk ls "${url}p/"
            nk mkdir "${url}p/q/r"; echo $?
            nk rm "${url}p"; echo $?
            nk rm -r "${url}p" && nk ls "$url" && echo empty
            nk rm -r "${url}p"; echo $?
            """)
        #expect(run.output.hasPrefix("q\n") && run.output.contains("\nempty\n"), "\(run.text)")
        #expect(run.output.split(separator: "\n").count { $0 == "22" } == 3, "\(run.text)")
    }

    @Test(arguments: [
        (["get", "--newer", "ftp://h.invalid/"], "--newer requires -r."),
        (["put", "--delete", "/etc/hosts", "ftp://h.invalid/"], "--delete requires -r."),
        (["get", "-r", "--sessions", "65", "ftp://h.invalid/"], "--sessions must be a number from 1 to 64."),
        (["ls", "-h", "ftp://h.invalid/"], "-h requires -l"),
        (["put", "-r", "--limit-rate", "1k", "/etc", "ftp://h.invalid/"], "--limit-rate cannot be combined with -r."),
        (["put", "--connect-timeout", "0", "/etc/hosts", "ftp://h.invalid/"], "--connect-timeout must be a number"),
        (["mkdir", "ftp://h.invalid/a?b"], "Write %3F for a question mark"),
    ])
    func refusesOptions(_ arguments: [String], _ words: String) async throws {
        let run = try await Tool.run(arguments + ["-u", "a:b"])
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }
}
