import Foundation
import Peers
import Testing

/// `netkit connect` with other programs: socat and OpenSSL.
struct ConnectTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs a shell script in which `listen OPTION…` starts `netkit connect --listen OPTION…` with its input from the file `in`, its
    /// output to `out`, and its port in `$port`.
    private func run(_ script: String) async throws -> Tool.Run {
        try await Tool.run(
            shell: """
                cd '\(folder.path)' || exit
                mkfifo errors
                head -c 300000 /dev/zero >large
                printf 'from netkit\\n' >in
                listen() {
                    "$netkit" connect --listen "$@" <in >out 2>errors &
                    exec 3<errors
                    read -r line <&3
                    port=${line##*:}
                }
                \(script)
                """)
    }

    @Test func aClientIsServed() async throws {
        let run = try await run(
            """
            listen localhost:0
            printf 'from socat\\n' | socat - TCP:127.0.0.1:$port
            wait $!
            echo "$?"; cat out
            """)
        #expect(run.output == "from netkit\n0\nfrom socat\n", "\(run.text)")
    }

    /// The end of one direction does not cut off the other.
    @Test func bothDirectionsEndOnTheirOwn() async throws {
        let run = try await run(
            """
            : >in
            listen localhost:0
            "$netkit" connect localhost:$port <large
            wait $!
            echo "$?"; cmp out large && echo received
            rm errors; mkfifo errors; cp large in
            listen localhost:0
            "$netkit" connect localhost:$port </dev/null >copy
            cmp copy large && echo sent
            """)
        #expect(run.output == "0\nreceived\nsent\n", "\(run.text)")
    }

    @Test func unixSockets() async throws {
        let run = try await run(
            """
            listen ./socket
            printf 'from socat\\n' | socat - UNIX-CONNECT:socket
            wait $!
            echo "$?"; cat out; ls socket 2>&1
            """)
        #expect(run.output.hasPrefix("from netkit\n0\nfrom socat\n"), "\(run.text)")
        #expect(run.output.contains("No such file"), "\(run.text)")

        let echo = Socat(.echoUnix)
        try echo.start()
        let client = try await Tool.run(shell: "printf hello | \"$netkit\" connect '\(echo.path)'")
        #expect(client.status == 0 && client.output == "hello", "\(client.text)")
    }

    /// Each direction on its own, because s_client ends at the server's close_notify, whatever it has not sent.
    @Test func aTLSServer() async throws {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        let run = try await run(
            """
            server="--tls --cert \(identity.chain) --key \(identity.key) localhost:0"
            client="openssl s_client -quiet -verify_quiet -verify_return_error -CAfile \(authority.root) -verify_hostname localhost"
            listen $server
            $client -connect 127.0.0.1:$port </dev/null
            wait $!
            echo "$?"
            rm errors in; mkfifo errors in; exec 4<>in
            listen $server
            printf 'from OpenSSL\\n' | $client -no_ign_eof -connect 127.0.0.1:$port
            wait $!
            echo "$?"; cat out
            """)
        #expect(run.output == "from netkit\n0\n0\nfrom OpenSSL\n", "\(run.text)")
    }

    @Test func datagrams() async throws {
        let echo = Socat(.echoDatagrams)
        try echo.start()
        let client = try await Tool.run(
            shell: "printf hello | \"$netkit\" connect --udp 127.0.0.1:\(echo.port)")
        #expect(client.status == 0 && client.output == "hello", "\(client.text)")

        let server = try await run(
            """
            listen --udp --wait 0.2 127.0.0.1:0
            printf 'from socat\\n' | socat -t 1 - UDP:127.0.0.1:$port
            wait $!
            echo "$?"; cat out
            """)
        #expect(server.output == "from netkit\n0\nfrom socat\n", "\(server.text)")
    }

    /// A datagram to a port without a listener is refused (ICMP).
    @Test func aRefusedDatagram() async throws {
        let run = try await Tool.run(shell: "echo hello | \"$netkit\" connect --udp 127.0.0.1:1")
        #expect(run.status == 7, "\(run.text)")
        #expect(run.errors.contains("No program receives datagrams at 127.0.0.1:1."), "\(run.text)")
    }

    @Test func noClientComes() async throws {
        let run = try await Tool.run(["connect", "--listen", "--timeout", "0.1", "localhost:0"])
        #expect(run.status == 28 && run.errors.contains("No client connected within 0.1 s."), "\(run.text)")
    }

    @Test(arguments: [
        (["--listen", "99999"], "'99999' is not PORT, ADDRESS:PORT or the path of a socket"),
        (["--listen", "example.org:80"], "use a numeric address or localhost"),
        (["--listen", "--tls", "0"], "--listen with --tls requires --cert FILE."),
        (["--listen", "-x", "http://h.invalid", "0"], "--proxy cannot be combined with --listen."),
        (["--listen", "--starttls", "smtp", "0"], "--starttls is for clients"),
        (
            [
                "--listen", "--tls", "--cert", "/c", "--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                "0",
            ], "--pin cannot"
        ),
        (["--udp", "--tls", "h.invalid:1"], "--tls cannot be combined with --udp."),
        (["--udp", "--timeout", "1", "h.invalid:1"], "--timeout cannot be combined with --udp"),
        (["--wait", "1", "h.invalid:1"], "--wait requires --udp."),
        (["--udp", "/a/socket"], "--udp requires a host and port."),
        (["--tls", "/a/socket"], "TLS to a Unix socket is not supported"),
        (["h.invalid"], "is not HOST:PORT or the path of a socket"),
    ])
    func refusesOptions(_ options: [String], _ words: String) async throws {
        let run = try await Tool.run(["connect"] + options)
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }
}
