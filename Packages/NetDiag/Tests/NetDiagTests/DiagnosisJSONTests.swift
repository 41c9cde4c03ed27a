import FoundationEssentials
import Testing

@_spi(Packages) @testable import NetDiag

@Suite struct DiagnosisJSONTests {
    private func json(_ diagnosis: Diagnosis) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(diagnosis), as: UTF8.self)
    }

    @Test func aHealthyOne() throws {
        #expect(
            try json(World().diagnose())
                == """
                {"consequences":[],"families":[{"family":"IPv4","state":"works"},{"family":"IPv6","state":"notThere"}],\
                "remarks":[],"schema":1,"status":"up","target":"www.example.org:443","uncheckable":[],"unchecked":[]}
                """)
    }

    @Test func aBrokenOneWithConsequences() throws {
        let world = World.changed {
            $0.connection = World.timedOut
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)]
        }
        let text = try json(world.diagnose())
        #expect(text.contains("\"cause\":{\"advice\":\"Restart the router"))
        #expect(text.contains("\"code\":\"gatewaySilent\""))
        #expect(text.contains("\"key\":\"diag.gatewaySilent\",\"rung\":\"gateway\""))
        #expect(text.contains("\"code\":\"noAnswer\",\"dependsOn\":\"gatewaySilent\""))
        #expect(text.contains("\"cause\":\"gatewaySilent\",\"family\":\"IPv4\",\"state\":\"broken\""))
        #expect(text.contains("\"unchecked\":[\"security\",\"answer\",\"authentication\"]"))
        #expect(text.contains("\"status\":\"down\""))
    }
}
