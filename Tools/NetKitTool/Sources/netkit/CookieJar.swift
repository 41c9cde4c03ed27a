import Foundation
import Glibc
import NetKit

/// The cookies of a command, from `-b`, and the file of `-c` for those that it ends with.
struct CookieJar: Sendable {
    /// The cookies of the session.
    let cookies: HTTPCookies
    private let file: String?

    /// - Parameters:
    ///   - sources: pairs of name and value for the hosts of `urls`, or files in Netscape's format.
    ///   - file: the file to write; if it does not exist, it may be among the sources as well.
    init(_ sources: [String], for urls: [URL], writing file: String?) throws {
        self.file = file
        let cookies = HTTPCookies()
        for source in sources {
            if source.contains("=") {
                for url in urls { for cookie in try CookieJar.pairs(source, url) { cookies.set(cookie) } }
                continue
            }
            if source == file, access(source, F_OK) != 0 { continue }
            if let failure = OutputFile.Failure(reading: source) { throw failure }
            guard let contents = FileManager.default.contents(atPath: source) else {
                throw OutputFile.Failure(description: "\(source) cannot be read.")
            }
            do {
                for cookie in try HTTPCookies(netscapeFile: Array(contents)).all { cookies.set(cookie) }
            } catch {
                throw OutputFile.Failure(description: "\(source) is not a cookie file. \(error)")
            }
        }
        self.cookies = cookies
    }

    /// Writes the file. A new one is readable by its user only.
    func save() throws(OutputFile.Failure) {
        guard let file else { return }
        if file == "-" { return try OutputFile().write(cookies.netscapeFile.span.bytes) }
        let output = try OutputFile(path: file, keeping: 0, isPrivate: true)
        try output.write(cookies.netscapeFile.span.bytes)
        try output.finish()
    }

    /// The cookies of a text like `a=b; c=d`. They are sent to the host of the URL only, not after a redirect to another one.
    private static func pairs(_ text: String, _ url: URL) throws -> [HTTPCookie] {
        try text.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.map {
            let parts = $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let origin = try? HTTPOrigin(url),
                let cookie = try? HTTPCookie(name: parts[0], value: parts[1], domain: origin.host)
            else { throw OutputFile.Failure(description: "-b '\($0)' is not a cookie; use NAME=VALUE or a file.") }
            return cookie
        }
    }
}
