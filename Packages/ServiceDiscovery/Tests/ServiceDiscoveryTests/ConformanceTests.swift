import Foundation
import Testing

/// The page about conformance names only tests that exist.
@Suite struct ConformanceTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let package = tests.deletingLastPathComponent().deletingLastPathComponent()

    /// The contents of all Swift files in a folder; empty if there is no such folder.
    private static func sources(_ folder: URL) -> String {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let swift = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
        return swift.compactMap { try? String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    @Test func pageNamesExistingTests() throws {
        let page = Self.package.appending(
            path: "Sources/ServiceDiscovery/ServiceDiscovery.docc/Conformance.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("|") && !$0.hasPrefix("|---")
        }
        #expect(rows.count > 50)
        let own = Self.sources(Self.tests)
        // As a repository of its own, the package has neither of these.
        let peers = Self.sources(
            Self.package.appending(path: "../../Tests/IntegrationTests/Tests/ServiceDiscoveryPeerTests"))
        let resolver = Self.sources(Self.package.appending(path: "../HostResolver/Tests"))
        var count = 0
        for row in rows {
            let cell = row.split(separator: "|").last ?? ""
            var sources = own
            for part in cell.split(separator: ";") {
                if part.contains("*peers*") {
                    sources = peers
                } else if part.contains("HostResolver:") {
                    sources = resolver
                }
                if sources.isEmpty { continue }
                for (number, name) in part.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                where !number.isMultiple(of: 2) {
                    let test = name.split(separator: ".").last ?? name
                    let exists = sources.contains("func \(test)(") || sources.contains("struct \(test) ")
                    #expect(exists, "\(name) in: \(row)")
                    count += 1
                }
            }
        }
        #expect(count > 60)
    }
}
