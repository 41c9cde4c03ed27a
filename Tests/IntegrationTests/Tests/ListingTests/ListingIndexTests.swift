import Foundation
import Testing

/// Every listing of the guides exists under its number and is run.
///
/// The test reads the sources: a listing is a function `listing7` or a type `Listing7` of its chapter, and is run if a test, the
/// program `listing` or another listing of the chapter uses it.
struct ListingIndexTests {
    /// The listings of one chapter are numbered from 1.
    struct Chapter: CustomTestStringConvertible {
        let guide: String
        let name: String
        let count: Int
        /// The name of the chapter in test output.
        let aliases: [String]

        var testDescription: String { "\(guide) \(name)-1 … \(name)-\(count)" }
    }

    private static let chapters = [
        Chapter(guide: "CFNetworkGuide", name: "2", count: 17, aliases: ["Listings2", "keeper"]),
        Chapter(guide: "CFNetworkGuide", name: "3", count: 5, aliases: ["Listings3"]),
        Chapter(guide: "CFNetworkGuide", name: "4", count: 10, aliases: ["Listings4"]),
        Chapter(guide: "CFNetworkGuide", name: "5", count: 5, aliases: ["Listings5"]),
        Chapter(guide: "CFNetworkGuide", name: "6", count: 1, aliases: ["CFNetworkGuide.Chapter6"]),
        Chapter(guide: "ServicesGuide", name: "2", count: 1, aliases: ["ServicesGuide.Chapter2"]),
        Chapter(guide: "ServicesGuide", name: "3", count: 3, aliases: ["ServicesGuide.Chapter3"]),
        Chapter(guide: "ServicesGuide", name: "4", count: 5, aliases: ["ServicesGuide.Chapter4"]),
        Chapter(guide: "ServicesGuide", name: "A", count: 6, aliases: ["ServicesGuide.AppendixA"]),
        Chapter(guide: "ServicesGuide", name: "B", count: 3, aliases: ["ServicesGuide.AppendixB"]),
        // Appendix A is about CFNetServices and has no Foundation form.
        Chapter(guide: "NetServiceGuide", name: "2", count: 1, aliases: ["NetServiceGuide.Chapter2"]),
        Chapter(guide: "NetServiceGuide", name: "3", count: 3, aliases: ["NetServiceGuide.Chapter3"]),
        Chapter(guide: "NetServiceGuide", name: "4", count: 5, aliases: ["NetServiceGuide.Chapter4"]),
        Chapter(guide: "NetServiceGuide", name: "B", count: 3, aliases: ["NetServiceGuide.AppendixB"]),
    ]

    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The texts of the Swift files of a folder whose names have this prefix, concatenated.
    private static func text(_ folder: String, _ prefix: String = "") throws -> String {
        let path = package.appendingPathComponent(folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: path.path)
            .filter { $0.hasPrefix(prefix) && $0.hasSuffix(".swift") }.sorted()
        return try names.map { try String(contentsOf: path.appendingPathComponent($0), encoding: .utf8) }
            .joined(separator: "\n")
    }

    @Test(arguments: chapters) func everyListingExistsAndIsRun(_ chapter: Chapter) throws {
        let listings = try Self.text("Sources/Listings/\(chapter.guide)", "\(chapter.guide)\(chapter.name)")
        let users = try Self.text("Tests/ListingTests") + Self.text("Sources/listing")
        for number in 1...chapter.count {
            let declaration = try Regex("(func listing|(struct|class|typealias) Listing)\(number)\\b")
            #expect(listings.contains(declaration), "there is no \(chapter.name)-\(number)")
            let title = "/// \(chapter.name)-\(number)"
            #expect(listings.contains(try Regex("\(title)\\b")), "\(title) is not documented")
            let names = chapter.aliases.joined(separator: "|").replacing(".", with: "\\.")
            let isRun = try users.contains(Regex("(\(names))\\.[lL]isting\(number)\\b"))
            let isUsed = listings.matches(of: try Regex("[lL]isting\(number)\\b")).count > 1
            #expect(isRun || isUsed, "\(chapter.name)-\(number) is not run")
        }
        let further = try Regex("(func listing|(struct|class|typealias) Listing)\(chapter.count + 1)\\b")
        #expect(!listings.contains(further), "the guide has no \(chapter.name)-\(chapter.count + 1)")
    }

    @Test func theTutorialExists() throws {
        #expect(try Self.text("Sources/Listings/PostTutorial").contains("public static func postRequest("))
        #expect(try Self.text("Tests/ListingTests", "HTTP").contains("PostTutorial.postRequest("))
    }
}
