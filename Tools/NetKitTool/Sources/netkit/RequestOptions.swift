import ArgumentParser
import Foundation
import NetKit

/// The options of `netkit get` that make the request: method, header fields and body.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("X"), .customLong("method"), .customLong("request")],
        help: ArgumentHelp(
            "The request method. Default: GET, POST with -d or -F, or PUT with -T.", valueName: "METHOD"),
        completion: .list(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]))
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Add a request header; repeatable. 'Name:' omits a header, also a default one, and 'Name;' sends it empty.",
            valueName: "NAME: VALUE"))
    var headers: [String] = []

    @Option(
        name: [.customShort("A"), .customLong("user-agent")], parsing: .unconditional,
        help: ArgumentHelp("Send this User-Agent.", valueName: "NAME"))
    var userAgent: String?

    @Option(
        name: [.customShort("e"), .long], parsing: .unconditional,
        help: ArgumentHelp("Send this URL as the Referer.", valueName: "URL"))
    var referer: String?

    @Option(
        help: ArgumentHelp(
            "Request a part of the file: 0-99, 100- or -50 bytes; also several, with commas.", valueName: "RANGE"))
    var range: String?

    @Option(
        help: ArgumentHelp(
            "Send the ETag in FILE, so that an unchanged file is not sent again (If-None-Match).", valueName: "FILE"),
        completion: .file())
    var etagCompare: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Append to the URL's query; encoded as by --data-urlencode, or as it is after a +. Repeatable.",
            valueName: "NAME=VALUE"))
    var urlQuery: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            The request body: text, @FILE for a file without its line ends, or @- for standard input. Several texts are joined \
            with &. Sent as application/x-www-form-urlencoded unless -H sets a Content-Type.
            """, valueName: "DATA"))
    var textData: [String] = []

    @Option(
        name: .customLong("data-binary"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -d, with each byte of @FILE or @- as it is.", valueName: "DATA"))
    var binaryData: [String] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Like -d, with VALUE encoded for a form; NAME@FILE encodes the contents of a file. Follows the texts of -d.",
            valueName: "NAME=VALUE"))
    var dataUrlencode: [String] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -d, with VALUE as it is, even if it begins with @.", valueName: "VALUE"))
    var dataRaw: [String] = []

    @Flag(
        name: [.customShort("G"), .customLong("get")],
        help: "Append the data of -d to the URL as its query, and send no body.")
    var sendsDataAsQuery = false

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A JSON body: text, @FILE or @-; sent as application/json, which is also the accepted type. Several are joined.",
            valueName: "JSON"))
    var jsonBody: [String] = []

    @Option(
        name: [.customShort("F"), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            A part of a multipart form: NAME=VALUE, NAME=<FILE for the text in a file, or NAME=@FILE for a file, which has the \
            type of its ending. ;type=TYPE and ;filename=NAME may follow. Repeatable.
            """, valueName: "NAME=CONTENT"))
    var form: [String] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Like -F, with the text VALUE as it is.", valueName: "NAME=VALUE"))
    /// Always empty: ``CommandLineArguments`` makes the texts parts of ``form``.
    var formString: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp(
            "Upload FILE, or standard input for - or ., with PUT. A URL that ends with / gets the name of the file.",
            valueName: "FILE"), completion: .file())
    var upload: String?

    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects, up to 20.")
    var followsRedirects = false

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Send a HEAD request and print the response head.")
    var head = false

    @Flag var versionFlags: [VersionFlag] = []

    @Flag(
        help:
            "Request gzip or deflate, or br and zstd if their libraries are installed, and write the decoded body.")
    var compressed = false

    @Option(
        name: [.customShort("b"), .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            Send cookies: NAME=VALUE pairs for the URL's host, separated by ;, as they are, or those of a FILE, in Netscape's format or as \
            Set-Cookie lines. A FILE that does not exist has none.
            """, valueName: "DATA|FILE"))
    var cookie: [String] = []

    @Flag(
        name: [.customShort("j"), .long],
        help: "Leave out the cookies of -b FILE that end with the session.")
    var junkSessionCookies = false

    @Option(
        name: [.customShort("c"), .long],
        help: ArgumentHelp(
            "Write all cookies to FILE in Netscape's format after the transfer.", valueName: "FILE"),
        completion: .file())
    var cookieJar: String?

    /// The values of -d or --data-binary.
    private var data: [String] { binaryData.isEmpty ? textData : binaryData }

    /// The given options, none of which applies to FTP.
    var names: [String] {
        var names: [String] = []
        func add(_ name: String, _ isGiven: Bool) { if isGiven { names.append(name) } }
        add("-X", method != nil)
        add("-H", !headers.isEmpty)
        add("-A", userAgent != nil)
        add("-e", referer != nil)
        add("--range", range != nil)
        add("--etag-compare", etagCompare != nil)
        add("--url-query", !urlQuery.isEmpty)
        add("-d", !textData.isEmpty)
        add("--data-binary", !binaryData.isEmpty)
        add("--data-urlencode", !dataUrlencode.isEmpty)
        add("--data-raw", !dataRaw.isEmpty)
        add("-G", sendsDataAsQuery)
        add("--json-body", !jsonBody.isEmpty)
        add("-F", !form.isEmpty)
        add("-T", upload != nil)
        add("-L", followsRedirects)
        add("--head", head)
        names += givenVersions.map(\.option)
        add("--compressed", compressed)
        add("-b", !cookie.isEmpty)
        add("-c", cookieJar != nil)
        return names
    }

    /// The given options for the version, each once.
    private var givenVersions: [VersionFlag] { VersionFlag.allCases.filter(versionFlags.contains) }

    /// The versions of HTTP that the request may use; nil for the default.
    var versions: HTTPVersions? { versionFlags.first?.versions }

    private var uploadsStandardInput: Bool { upload == "-" || upload == "." }

    /// Whether the body is standard input, which can be read once.
    var readsStandardInput: Bool {
        uploadsStandardInput || (data + jsonBody).contains("@-")
            || form.contains { (try? FormPart($0))?.readsStandardInput == true }
    }

    /// Whether the request has a body.
    var hasBody: Bool { !bodyOptions.isEmpty && !sendsDataAsQuery }

    /// The given options that make a body; --data-raw and --data-urlencode count as the option whose texts they follow.
    private var bodyOptions: [String] {
        [
            ("-d", !textData.isEmpty || (!(dataRaw + dataUrlencode).isEmpty && binaryData.isEmpty)),
            ("--data-binary", !binaryData.isEmpty), ("--json-body", !jsonBody.isEmpty), ("-F", !form.isEmpty),
            ("-T", upload != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        if bodyOptions.count > 1 {
            throw ValidationError("\(bodyOptions.joined(separator: " and ")) cannot be combined.")
        }
        if givenVersions.count > 1 {
            throw ValidationError("\(givenVersions.map(\.option).joined(separator: " and ")) cannot be combined.")
        }
        if sendsDataAsQuery {
            if bodyOptions != ["-d"], bodyOptions != ["--data-binary"] {
                throw ValidationError("-G requires -d or --data-urlencode, and no other body.")
            }
            if data.contains("@-") { throw ValidationError("-G cannot be combined with -d @-.") }
            // A file is checked when it is sent.
            for text in data.filter({ !$0.hasPrefix("@") }) + dataRaw { try Self.checkEscapes(text) }
        }
        if head, hasBody {
            throw ValidationError("--head sends no body and cannot be combined with \(bodyOptions[0]).")
        }
        if referer?.hasSuffix(";auto") == true {
            throw ValidationError("-e: netkit sends no Referer of its own to the target of a redirect; omit ;auto.")
        }
        if let range, !range.utf8.allSatisfy({ (0x30...0x39).contains($0) || "-,".utf8.contains($0) }) {
            throw ValidationError("--range '\(range)' is not a range, such as 0-99.")
        }
        _ = try verb()
        for header in headers { _ = try field(header) }
        for part in form { _ = try FormPart(part) }
    }

    /// The method.
    func verb() throws -> HTTPMethod {
        let usual = head ? "HEAD" : upload != nil ? "PUT" : hasBody ? "POST" : "GET"
        guard let verb = HTTPMethod(method ?? usual) else {
            throw ValidationError("-X '\(method ?? "")' is not a method.")
        }
        return verb
    }

    /// The name and value of one `-H`; without a value, the field is omitted.
    private func field(_ header: String) throws -> (HTTPFieldName, String?) {
        let isEmpty = !header.contains(":") && header.last == ";"
        let parts =
            isEmpty
            ? [header.dropLast(), ""] : header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValidationError("-H '\(header)' has no colon; use 'Name: value'.") }
        guard let name = HTTPFieldName(String(parts[0])) else {
            throw ValidationError("-H '\(header)': '\(parts[0])' is not a header name.")
        }
        if name == .host {
            throw ValidationError("-H '\(header)': use --connect-to to send a URL's Host to another server.")
        }
        if [.contentLength, .transferEncoding, .connection].contains(name) {
            throw ValidationError("-H '\(header)': netkit determines \(name.canonicalName) itself.")
        }
        if isEmpty, RequestOptions.defaultFields.contains(name) {
            let name = name.canonicalName
            throw ValidationError("-H '\(header)': \(name) requires a value; '\(name):' omits it.")
        }
        let value = parts[1].trimmingCharacters(in: .whitespaces)
        return (name, value.isEmpty && !isEmpty ? nil : value)
    }

    /// The fields that the session adds to a request.
    private static let defaultFields: [HTTPFieldName] = [.accept, .userAgent, .expect]

    /// The fields that -H omits.
    func omittedFields() throws -> [HTTPFieldName] {
        try headers.compactMap { header in
            let (name, value) = try field(header)
            return value == nil ? name : nil
        }
    }

    /// Whether -H sends a field.
    func hasField(_ name: HTTPFieldName) throws -> Bool { try headers.contains { try field($0).0 == name } }

    /// The form of -F; nil without it. Reads standard input if a part has its contents.
    func multipartForm() throws -> MultipartForm? {
        if form.isEmpty { return nil }
        var parts = MultipartForm()
        for part in form { try FormPart(part).append(to: &parts) }
        return parts
    }

    /// The request for a URL, without its body.
    ///
    /// - Parameter form: the form to send; its boundary becomes part of a `multipart/…` type of the caller's.
    func request(for url: URL, _ form: MultipartForm?) throws -> HTTPRequest {
        var request = try HTTPRequest(method: verb(), url: try target(url))
        for header in headers {
            let (name, value) = try field(header)
            if let value { try request.fields.append(value, for: name) }
        }
        let omitted = try omittedFields()
        if let userAgent { try request.fields.set(userAgent, for: .userAgent) }
        if let referer { try request.fields.set(referer, for: "Referer") }
        // As with curl, one number is the beginning.
        if let range { try request.fields.set("bytes=\(range)\(range.contains("-") ? "" : "-")", for: .range) }
        if let etagCompare { try request.fields.set(try etag(etagCompare), for: .ifNoneMatch) }
        // An empty value omits the default one.
        for name in RequestOptions.defaultFields where omitted.contains(name) {
            try request.fields.set("", for: name)
        }
        if let form, let type = request.fields[.contentType]?.lowercased(), type.hasPrefix("multipart/"),
            !type.contains("boundary=")
        {
            let own = request.fields[.contentType] ?? ""
            try request.fields.set("\(own); boundary=\(form.boundary)", for: .contentType)
        }
        if !request.fields.contains(.contentType), !omitted.contains(.contentType), hasBody, form == nil, upload == nil
        {
            let type = jsonBody.isEmpty ? "application/x-www-form-urlencoded" : "application/json"
            try request.fields.set(type, for: .contentType)
        }
        // Some servers refuse a request without Accept.
        if !request.fields.contains(.accept) {
            try request.fields.set(jsonBody.isEmpty ? "*/*" : "application/json", for: .accept)
        }
        return request
    }

    /// The body; nil for none.
    ///
    /// - Parameters:
    ///   - form: the form to send, which has no rate.
    ///   - rate: the greatest number of bytes per second; nil for no limit.
    func body(_ form: MultipartForm?, rate: Int64?) throws -> HTTPBody? {
        if let form { return .multipart(form) }
        if let upload { return try UploadSource(uploadsStandardInput ? "-" : upload).body(rate: rate) }
        if jsonBody.count == 1 { return try Self.body(of: jsonBody[0], rate) }
        if !jsonBody.isEmpty {
            let parts = try jsonBody.map { text in
                text.hasPrefix("@") ? try UploadSource.contents(of: String(text.dropFirst())) : Array(text.utf8)
            }
            return Self.body(Array(parts.joined()), rate)
        }
        guard hasBody else { return nil }
        if data.count == 1, dataRaw.isEmpty, dataUrlencode.isEmpty {
            return try Self.body(of: data[0], rate, omitsLineEnds: binaryData.isEmpty)
        }
        return Self.body(Array(try texts().joined(separator: [UInt8(ascii: "&")])), rate)
    }

    /// The body of a text, of `@FILE`, or of `@-`.
    ///
    /// - Parameter omitsLineEnds: whether the bytes CR, LF and NUL of a file or of standard input are left out.
    private static func body(of text: String, _ rate: Int64?, omitsLineEnds: Bool = false) throws -> HTTPBody {
        guard text.hasPrefix("@") else { return body(Array(text.utf8), rate) }
        return try UploadSource(String(text.dropFirst()))
            .body(rate: rate, omitsLineEnds: omitsLineEnds, measures: true)
    }

    private static func body(_ bytes: [UInt8], _ rate: Int64?) -> HTTPBody {
        guard let rate else { return .bytes(bytes) }
        return .stream(length: Int64(bytes.count)) { PacedUpload.stream(rate, ReadStream(bytes: bytes)) }
    }

    /// The ETag in a file; one that no file has if it does not exist.
    private func etag(_ path: String) throws -> String {
        if access(path, F_OK) != 0 { return "\"\"" }
        let text = String(decoding: try UploadSource.contents(of: path), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The URL with the query of `-G` and `--url-query`, or with the name of the uploaded file.
    private func target(_ url: URL) throws -> URL {
        var url = url
        if let upload, !uploadsStandardInput, url.path(percentEncoded: true).hasSuffix("/") || url.path().isEmpty {
            url = url.appending(
                component: URL(fileURLWithPath: upload).lastPathComponent, directoryHint: .notDirectory)
        }
        var texts = try urlQuery.map { $0.hasPrefix("+") ? String($0.dropFirst()) : try Self.encoded($0) }
        if sendsDataAsQuery { texts += try self.texts().map { String(decoding: $0, as: UTF8.self) } }
        guard !texts.isEmpty, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        let text = ([parts.percentEncodedQuery ?? ""] + texts).filter { !$0.isEmpty }.joined(separator: "&")
        try Self.checkEscapes(text)
        let allowed = CharacterSet.urlQueryAllowed.union(CharacterSet(charactersIn: "%"))
        parts.percentEncodedQuery = text.addingPercentEncoding(withAllowedCharacters: allowed)
        guard let target = parts.url else { throw ValidationError("'\(text)' is not a query.") }
        return target
    }

    /// Throws if a percent sign of a query begins no escape (RFC 3986 §2.1), for which URLComponents traps.
    private static func checkEscapes(_ query: String) throws {
        for part in query.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst() {
            let digits = part.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
                throw ValidationError(
                    "-G: a percent sign in -d begins no escape; write it as %25, or use --data-urlencode.")
            }
        }
    }

    /// The texts of -d, --data-raw and --data-urlencode, in this order.
    private func texts() throws -> [[UInt8]] {
        let plain = try data.map { text in
            guard text.hasPrefix("@") else { return Array(text.utf8) }
            var bytes = try UploadSource.contents(of: String(text.dropFirst()))
            if binaryData.isEmpty { UploadSource.removeLineEnds(from: &bytes) }
            return bytes
        }
        return plain + dataRaw.map { Array($0.utf8) } + (try dataUrlencode.map { Array(try Self.encoded($0).utf8) })
    }

    /// `NAME=VALUE`, `=VALUE`, `VALUE`, `NAME@FILE` or `@FILE` with the value or the contents of the file encoded.
    private static func encoded(_ text: String) throws -> String {
        let scalars = text.unicodeScalars
        guard let mark = scalars.firstIndex(where: { $0 == "=" || $0 == "@" }) else { return escaped(Array(text.utf8)) }
        let name = scalars[..<mark].isEmpty ? "" : "\(text[..<mark])="
        let rest = String(scalars[scalars.index(after: mark)...])
        return name + escaped(scalars[mark] == "@" ? try UploadSource.contents(of: rest) : Array(rest.utf8))
    }

    /// Bytes in the encoding of forms: all but unreserved characters are escaped (RFC 3986 §2.3).
    private static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "-._~".contains(character))
            return isPlain ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
