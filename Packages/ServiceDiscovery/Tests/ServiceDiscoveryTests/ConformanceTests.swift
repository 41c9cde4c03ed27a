import Foundation
import Testing

/// The page that goes through the standards names tests that there are.
@Suite struct ConformanceTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let package = tests.deletingLastPathComponent().deletingLastPathComponent()

    /// The bodies of all Swift files in a folder; none if there is no such folder.
    private static func sources(_ folder: URL) -> String {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let swift = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
        return swift.compactMap { try? String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    @Test func namesTestsThatThereAre() throws {
        let page = Self.package.appending(
            path: "Sources/ServiceDiscovery/ServiceDiscovery.docc/Conformance.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("|") && !$0.hasPrefix("|---")
        }
        #expect(rows.count > 50)
        let own = Self.sources(Self.tests)
        // Alone in a repository of its own, the package has neither of these.
        let peers = Self.sources(
            Self.package.appending(path: "../../Tests/IntegrationTests/Tests/ServiceDiscoveryPeerTests"))
        let resolver = Self.sources(Self.package.appending(path: "../HostResolver/Tests"))
        var count = 0
        for row in rows {
            let cell = row.split(separator: "|").last ?? ""
            var place = own
            for part in cell.split(separator: ";") {
                if part.contains("*peers*") {
                    place = peers
                } else if part.contains("HostResolver:") {
                    place = resolver
                }
                if place.isEmpty { continue }
                for (number, name) in part.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                where !number.isMultiple(of: 2) {
                    let test = name.split(separator: ".").last ?? name
                    let isThere = place.contains("func \(test)(") || place.contains("struct \(test) ")
                    #expect(isThere, "\(name) in: \(row)")
                    count += 1
                }
            }
        }
        #expect(count > 60)
    }
}
