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
