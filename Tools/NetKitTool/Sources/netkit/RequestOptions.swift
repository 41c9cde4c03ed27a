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

    @Flag(
        name: [.customShort("G"), .customLong("get")],
        help: "Append the data of -d to the URL as its query, and send no body.")
    var sendsDataAsQuery = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "A JSON body: text, @FILE or @-; sent as application/json, which is also the accepted type.",
            valueName: "JSON"))
    var jsonBody: String?

    @Option(
        name: [.customShort("F"), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            """
            A part of a multipart form: NAME=VALUE, or NAME=@FILE for a file, with ;type=TYPE and ;filename=NAME after it. \
            Repeatable.
            """, valueName: "NAME=CONTENT"))
    var form: [String] = []

    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp(
            "Upload FILE, or standard input for -, with PUT. A URL that ends with / gets the name of the file.",
            valueName: "FILE"), completion: .file())
    var upload: String?

    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects, up to 20.")
    var followsRedirects = false

    @Flag(name: [.customShort("I"), .customLong("head")], help: "Send a HEAD request and print the response head.")
    var head = false

    @Flag(
        help:
            "Request gzip or deflate, or br and zstd if their libraries are installed, and write the decoded body.")
    var compressed = false

    @Option(
        name: [.customShort("b"), .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Send cookies: NAME=VALUE pairs for the URL's host, separated by ;, or those of a FILE in Netscape's format.",
            valueName: "DATA|FILE"))
    var cookie: [String] = []

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
        [
            ("-X", method != nil), ("-H", !headers.isEmpty), ("-A", userAgent != nil), ("-d", !textData.isEmpty),
            ("--data-binary", !binaryData.isEmpty), ("--data-urlencode", !dataUrlencode.isEmpty),
            ("-G", sendsDataAsQuery),
            ("--json-body", jsonBody != nil), ("-F", !form.isEmpty), ("-T", upload != nil),
            ("-L", followsRedirects), ("--head", head), ("--compressed", compressed), ("-b", !cookie.isEmpty),
            ("-c", cookieJar != nil),
        ].filter(\.1).map(\.0)
    }

    /// Whether the body is standard input, which can be read once.
    var readsStandardInput: Bool {
        upload == "-" || data.contains("@-") || jsonBody == "@-" || form.contains { $0.contains("=@-") }
    }

    /// Whether the request has a body.
    var hasBody: Bool { !bodyOptions.isEmpty && !sendsDataAsQuery }

    /// The given options that make a body; --data-urlencode counts as the option whose texts it follows.
    private var bodyOptions: [String] {
        [
            ("-d", !textData.isEmpty || (!dataUrlencode.isEmpty && binaryData.isEmpty)),
            ("--data-binary", !binaryData.isEmpty), ("--json-body", jsonBody != nil), ("-F", !form.isEmpty),
            ("-T", upload != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        if bodyOptions.count > 1 {
            throw ValidationError("\(bodyOptions.joined(separator: " and ")) cannot be combined.")
        }
        if data.count + dataUrlencode.count > 1, data.contains(where: { $0.hasPrefix("@") }) {
            throw ValidationError("\(bodyOptions[0]) @FILE cannot be combined with another -d.")
        }
        if sendsDataAsQuery {
            if bodyOptions != ["-d"], bodyOptions != ["--data-binary"] {
                throw ValidationError("-G requires -d or --data-urlencode, and no other body.")
            }
            if data.contains("@-") { throw ValidationError("-G cannot be combined with -d @-.") }
            // A file is checked when it is sent.
            if !data.contains(where: { $0.hasPrefix("@") }) { try Self.checkEscapes(data.joined(separator: "&")) }
        }
        if head, hasBody {
            throw ValidationError("--head sends no body and cannot be combined with \(bodyOptions[0]).")
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
        if isEmpty, [.userAgent, .expect].contains(name) {
            let name = name.canonicalName
            throw ValidationError("-H '\(header)': \(name) requires a value; '\(name):' omits it.")
        }
        let value = parts[1].trimmingCharacters(in: .whitespaces)
        return (name, value.isEmpty && !isEmpty ? nil : value)
    }

    /// The fields that -H omits.
    func omittedFields() throws -> [HTTPFieldName] {
        try headers.compactMap { header in
            let (name, value) = try field(header)
            return value == nil ? name : nil
        }
    }

    /// The request for a URL, without its body.
    func request(for url: URL) throws -> HTTPRequest {
        var request = try HTTPRequest(method: verb(), url: try target(url))
        for header in headers {
            let (name, value) = try field(header)
            if let value { try request.fields.append(value, for: name) }
        }
        let omitted = try omittedFields()
        if let userAgent { try request.fields.set(userAgent, for: .userAgent) }
        // An empty value omits the default one.
        for name in [HTTPFieldName.userAgent, .expect] where omitted.contains(name) {
            try request.fields.set("", for: name)
        }
        if !request.fields.contains(.contentType), !omitted.contains(.contentType), hasBody, form.isEmpty, upload == nil
        {
            let type = jsonBody == nil ? "application/x-www-form-urlencoded" : "application/json"
            try request.fields.set(type, for: .contentType)
        }
        if jsonBody != nil, !request.fields.contains(.accept), !omitted.contains(.accept) {
            try request.fields.set("application/json", for: .accept)
        }
        return request
    }

    /// The body; nil for none.
    ///
    /// - Parameter rate: the greatest number of bytes per second; nil for no limit. A form has none.
    func body(rate: Int64?) throws -> HTTPBody? {
        if let upload { return try UploadSource(upload).body(rate: rate) }
        if let jsonBody { return try Self.body(of: jsonBody, rate) }
        if !form.isEmpty {
            var parts = MultipartForm()
            for part in form { try FormPart(part).append(to: &parts) }
            return .multipart(parts)
        }
        guard hasBody else { return nil }
        if data.count == 1, dataUrlencode.isEmpty {
            return try Self.body(of: data[0], rate, omitsLineEnds: binaryData.isEmpty)
        }
        return Self.body(try texts().joined(separator: "&"), rate)
    }

    /// The body of a text, of `@FILE`, or of `@-`.
    ///
    /// - Parameter omitsLineEnds: whether the bytes CR, LF and NUL of a file or of standard input are left out.
    private static func body(of text: String, _ rate: Int64?, omitsLineEnds: Bool = false) throws -> HTTPBody {
        guard text.hasPrefix("@") else { return body(text, rate) }
        return try UploadSource(String(text.dropFirst())).body(rate: rate, omitsLineEnds: omitsLineEnds)
    }

    private static func body(_ text: String, _ rate: Int64?) -> HTTPBody {
        let bytes = Array(text.utf8)
        guard let rate else { return .bytes(bytes) }
        return .stream(length: Int64(bytes.count)) { PacedUpload.stream(rate, ReadStream(bytes: bytes)) }
    }

    /// The URL with the query of `-G`, or with the name of the uploaded file.
    private func target(_ url: URL) throws -> URL {
        if let upload, upload != "-", url.path(percentEncoded: true).hasSuffix("/") || url.path().isEmpty {
            return url.appending(
                component: URL(fileURLWithPath: upload).lastPathComponent, directoryHint: .notDirectory)
        }
        guard sendsDataAsQuery, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        let query = [parts.percentEncodedQuery ?? ""] + (try texts())
        let text = query.filter { !$0.isEmpty }.joined(separator: "&")
        try Self.checkEscapes(text)
        let allowed = CharacterSet.urlQueryAllowed.union(CharacterSet(charactersIn: "%"))
        parts.percentEncodedQuery = text.addingPercentEncoding(withAllowedCharacters: allowed)
        guard let target = parts.url else { throw ValidationError("-G: '\(text)' is not a query.") }
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

    /// The texts of -d and --data-urlencode, in this order.
    private func texts() throws -> [String] {
        let plain = try data.map { text in
            guard text.hasPrefix("@") else { return text }
            var bytes = try Self.contents(String(text.dropFirst()))
            if binaryData.isEmpty { UploadSource.removeLineEnds(from: &bytes) }
            return String(decoding: bytes, as: UTF8.self)
        }
        return plain + (try dataUrlencode.map(Self.encoded))
    }

    /// `NAME=VALUE`, `=VALUE`, `VALUE`, `NAME@FILE` or `@FILE` with the value or the contents of the file encoded.
    private static func encoded(_ text: String) throws -> String {
        guard let mark = text.firstIndex(where: { $0 == "=" || $0 == "@" }) else { return escaped(Array(text.utf8)) }
        let name = text[..<mark].isEmpty ? "" : "\(text[..<mark])="
        let rest = String(text[text.index(after: mark)...])
        return name + escaped(text[mark] == "@" ? try contents(rest) : Array(rest.utf8))
    }

    /// Bytes in the encoding of forms: all but unreserved characters are escaped (RFC 3986 §2.3).
    private static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "-._~".contains(character))
            return isPlain ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    private static func contents(_ path: String) throws -> [UInt8] {
        if let failure = OutputFile.Failure(reading: path) { throw failure }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw OutputFile.Failure(description: "\(path) cannot be read.")
        }
        return Array(data)
    }
}

/// One `-F`: a name, a text or a file, and what the part declares about it.
private struct FormPart {
    private let name: String
    private let content: String
    private let isFile: Bool
    private var type: String?
    private var fileName: String?

    init(_ text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw ValidationError("-F '\(text)' is not a part of a form; use NAME=VALUE or NAME=@FILE.")
        }
        name = parts[0]
        isFile = parts[1].hasPrefix("@")
        guard isFile else {
            content = parts[1]
            return
        }
        // Only the parameters of a file are separated: a text may contain any characters.
        var words = parts[1].dropFirst().split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        content = words.removeFirst()
        for word in words {
            if word.hasPrefix("type=") {
                type = String(word.dropFirst("type=".count))
            } else if word.hasPrefix("filename=") {
                fileName = String(word.dropFirst("filename=".count))
            } else {
                throw ValidationError("-F '\(text)': '\(word)' is neither type=TYPE nor filename=NAME.")
            }
        }
    }

    func append(to form: inout MultipartForm) throws {
        guard isFile else { return try form.append(name, content) }
        let fileName = fileName ?? (content == "-" ? "-" : URL(fileURLWithPath: content).lastPathComponent)
        let type = type ?? "application/octet-stream"
        if content == "-" {
            let bytes = Array(try FileHandle.standardInput.readToEnd() ?? Data())
            try form.append(name, bytes: bytes, fileName: fileName, contentType: type)
        } else {
            if let failure = OutputFile.Failure(reading: content) { throw failure }
            try form.append(name, file: content, fileName: fileName, contentType: type)
        }
    }
}
