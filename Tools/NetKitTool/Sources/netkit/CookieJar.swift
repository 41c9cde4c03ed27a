import Foundation
import Glibc
import NetKit

/// The cookies of a command, from `-b`, and the file of `-c` for those that it ends with.
struct CookieJar: Sendable {
    /// The cookies of the session.
    let cookies: HTTPCookies
    /// The texts of `-b`, which are sent as they are; nil without one.
    let text: String?
    /// The hosts to which ``text`` is sent.
    private let hosts: Set<String>
    private let file: String?

    /// - Parameters:
    ///   - sources: texts such as `a=b; c=d` for the hosts of `urls`, which need not be pairs and are not stored; or files, in Netscape's format or with `Set-Cookie` lines for
    ///     these hosts. A file that does not exist, or an empty name, stands for no cookies.
    ///   - file: the file to write; if it does not exist, it may be among the sources as well.
    ///   - junksSessionCookies: whether the cookies of files that end with the session are left out.
    init(_ sources: [String], for urls: [URL], writing file: String?, junksSessionCookies: Bool = false) throws {
        self.file = file
        cookies = HTTPCookies()
        hosts = Set(urls.compactMap { (try? HTTPOrigin($0))?.host })
        let texts = sources.filter { $0.utf8.contains(UInt8(ascii: "=")) }
        text = texts.isEmpty ? nil : texts.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "; ")
        for source in sources where !source.utf8.contains(UInt8(ascii: "=")) {
            if !source.isEmpty, source != file || access(source, F_OK) == 0 {
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

    // MARK: Requests

    /// Adds the texts of `-b` to a request for one of their hosts, behind the cookies of the jar, as curl does. A `Cookie` field of the
    /// caller's replaces both.
    func add(to fields: inout HTTPFields, for url: URL) throws(HTTPMessageError) {
        guard let text = text(for: url), !fields.contains(.cookie) else { return }
        var sent = cookies
        if url.scheme?.lowercased() != "https" {
            // Those of this machine would be sent to a proxy as well.
            sent = HTTPCookies()
            for cookie in cookies.all where !cookie.isSecure { sent.set(cookie) }
        }
        let pairs = [sent.field(for: url), text].compactMap(\.self)
        try fields.set(rawValue: Array(pairs.joined(separator: "; ").utf8), for: .cookie)
    }

    /// The next request of a redirect, with the cookies for its URL.
    func redirected(_ redirect: HTTPRedirect) -> HTTPRequest {
        var next = redirect.next
        guard let url = next.url else { return next }
        next.fields.remove(.cookie)
        // A field that could be set before can be set again.
        try? add(to: &next.fields, for: url)
        return next
    }

    private func text(for url: URL) -> String? {
        guard let text, let origin = try? HTTPOrigin(url), hosts.contains(origin.host) else { return nil }
        return text
    }
}
