import Foundation
import Peers
import Testing

/// The verbs for service discovery, on loopback by the engine in the process.
@Suite struct DiscoveryTests {
    @Test func aNameThatBrowsePrintsCanBeLookedUp() async throws {
        let type = "_nk\(UUID().uuidString.prefix(8).lowercased())._tcp"
        let options = "--engine embedded --interface lo"
        let line = """
            $netkit publish \(options) 'Büro · 2. Stock' \(type) 631 a=b >/dev/null & pid=$!
            for attempt in 1 2 3 4 5; do
                found=$($netkit browse \(options) --timeout 3 \(type))
                if [ "$found" ]; then break; fi
            done
            echo "$found"
            $netkit lookup --timeout 20 \(options) "${found#+ lo }"
            $netkit lookup --timeout 20 --json \(options) 'Büro · 2. Stock' \(type)
            $netkit browse --timeout 3 --json \(options) \(type)
            kill $pid; wait $pid
            """
        let run = try await Tool.run(shell: line)
        let lines = run.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(run.text)")
        #expect(lines[0] == #"+ lo Büro · 2\. Stock.\#(type).local."#, "\(run.text)")
        #expect(lines[1].contains(" 631 ") && lines[1].hasSuffix("  a=b"), "\(run.text)")
        #expect(lines[2].contains(#""service":"Büro · 2\\. Stock.\#(type).local.""#), "\(run.text)")
        #expect(lines[3].contains(#""interface":"lo""#), "\(run.text)")
    }

    /// Two services are announced that never tell their location. One after the other, they would take the whole time.
    @Test("a service that does not answer does not delay the others") func sideBySide() async throws {
        let type = "_nk\(UUID().uuidString.prefix(8).lowercased())"
        let ghosts = """
            import socket, sys, time
            def name(*labels):
                return b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\\0"
            kind = (sys.argv[1], "_tcp", "local")
            records = b""
            for ghost in "ghost", "spectre":
                target = name(ghost, *kind)
                records += name(*kind) + b"\\0\\x0c\\0\\1" + (120).to_bytes(4, "big") + len(target).to_bytes(2, "big") + target
            packet = b"\\0\\0\\x84\\0" + b"\\0\\0\\0\\2\\0\\0\\0\\0" + records
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind(("", 5353))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            while True:
                s.sendto(packet, ("224.0.0.251", 5353))
                time.sleep(0.2)
            """
        let folder = try TemporaryFolder()
        try folder.write(ghosts, to: "ghosts.py")
        let options = "--engine embedded --interface lo"
        let run = try await Tool.run(
            shell: """
                cd '\(folder.path)' || exit
                python3 ghosts.py \(type) & ghosts=$!
                $netkit browse \(options) --resolve --timeout 9 \(type)._tcp >out 2>err & browse=$!
                until grep -q spectre out; do kill -0 $browse || break; sleep 0.1; done
                $netkit publish \(options) real \(type)._tcp 631 >/dev/null & publish=$!
                wait $browse; status=$?
                kill $ghosts $publish; wait $publish
                cat out; cat err >&2; exit $status
                """)
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 0 && lines.count { $0.hasPrefix("+ lo ") } == 3, "\(run.text)")
        #expect(lines.contains { $0.hasPrefix("= lo real.") && $0.contains(" 631 ") }, "\(run.text)")
        #expect(run.errors.contains("ghost.\(type)._tcp.local. cannot be resolved"), "\(run.text)")
    }

    @Test("A signal ends a verb without a message") func signals() async throws {
        let type = "_nk\(UUID().uuidString.prefix(8).lowercased())._tcp"
        let line = """
            cd "$(mktemp -d)" || exit
            $netkit publish --engine embedded --interface lo x \(type) 1 >out 2>err & pid=$!
            $netkit browse --engine embedded --interface lo \(type) >found 2>>err & other=$!
            until grep -q published out && grep -q lo found; do sleep 0.1; done
            kill $pid $other; wait $pid && wait $other; echo "status $?"; cat err
            """
        let run = try await Tool.run(shell: line)
        #expect(run.output == "status 0\n", "\(run.text)")
    }

    @Test(arguments: ["nonsense", "a.b.c.d", "_ipp._tcp.local", ""]) func notTheNameOfAService(_ name: String)
        async throws
    {
        let run = try await Tool.run(["lookup", name])
        #expect(run.status == 64 && run.errors.contains("is not the full name of a service"), "\(run.text)")
    }
}
