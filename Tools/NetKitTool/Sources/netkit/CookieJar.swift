import Foundation
import Glibc
import NetKit

/// The cookies of a command, from `-b`, and the file of `-c` for those that it ends with.
struct CookieJar: Sendable {
    /// The cookies of the session.
    let cookies: HTTPCookies
    private let file: String?

    /// - Parameters:
    ///   - sources: pairs of name and value for the hosts of `urls`; or files, in Netscape's format or with `Set-Cookie` lines for
    ///     these hosts. A file that does not exist, or an empty name, stands for no cookies.
    ///   - file: the file to write; if it does not exist, it may be among the sources as well.
    ///   - junksSessionCookies: whether the cookies of files that end with the session are left out.
    init(_ sources: [String], for urls: [URL], writing file: String?, junksSessionCookies: Bool = false) throws {
        self.file = file
        cookies = HTTPCookies()
        for source in sources {
            if source.contains("=") {
                for url in urls { for cookie in try CookieJar.pairs(source, url) { cookies.set(cookie) } }
            } else if !source.isEmpty, source != file || access(source, F_OK) == 0 {
                try read(source, for: urls)
                if junksSessionCookies { cookies.removeAll { $0.expiry == nil } }
            }
        }
    }

    private func read(_ path: String, for urls: [URL]) throws {
        if access(path, F_OK) != 0 {
            return Terminal.warn("\(path) does not exist; no cookies are read from it.")
        }
        let contents = try UploadSource.contents(of: path)
        let lines = contents.split(separator: 0x0A, omittingEmptySubsequences: false)
        let isHead = lines.contains(where: CookieJar.isSetCookie)
        var others: [[UInt8]] = []
        for line in lines {
            // The lines keep their numbers.
            others.append([])
            guard CookieJar.isSetCookie(line) else {
                // The other lines of a response head are no mistakes.
                if !isHead || !CookieJar.isOfHead(line) { others[others.count - 1] = Array(line) }
                continue
            }
            var fields = HTTPFields()
            let value = line.dropFirst(CookieJar.fieldName.utf8.count).filter { $0 != 0x0D }
            try? fields.append(
                String(decoding: value, as: UTF8.self).trimmingCharacters(in: .whitespaces), for: .setCookie)
            for url in urls { cookies.store(fields, from: url) }
        }
        let file: HTTPCookies
        do {
            file = try HTTPCookies(netscapeFile: Array(others.joined(separator: [0x0A]))) { skipped in
                Terminal.warn("\(path), line \(skipped.line), is not a cookie: \(skipped.reason).")
            }
        } catch {
            return Terminal.warn("\(path) has no cookie that can be read. \(error)")
        }
        for cookie in file.all { cookies.set(cookie) }
    }

    private static let fieldName = "set-cookie:"

    private static func isSetCookie(_ line: ArraySlice<UInt8>) -> Bool {
        String(decoding: line.prefix(fieldName.utf8.count), as: UTF8.self).lowercased() == fieldName
    }

    /// Whether a line is a status line or a field of a response head. A cookie has tabs.
    private static func isOfHead(_ line: ArraySlice<UInt8>) -> Bool {
        if line.contains(0x09) { return false }
        if line.starts(with: "HTTP/".utf8) { return true }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        return !name.isEmpty && name.endIndex < line.endIndex
            && name.allSatisfy {
                $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
            }
    }

    /// Writes the file. A new one is readable by its user only.
    func save() throws(OutputFile.Failure) {
        if let file { try OutputFile.write(cookies.netscapeFile.span.bytes, to: file) }
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
