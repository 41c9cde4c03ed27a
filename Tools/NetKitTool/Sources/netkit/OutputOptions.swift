import ArgumentParser
import Foundation
import NetKit

/// The options of `netkit get` that decide what is written, and where.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the body to FILE; - is standard output. The first -o is for the first URL, and so on.",
            valueName: "FILE"), completion: .file())
    var files: [String] = []

    @Flag(
        name: [.customShort("O"), .long],
        help: "Write each body without -o to a file with the last name in its URL, in the current folder.")
    var remoteName = false

    @Flag(
        name: [.customShort("J"), .long],
        help: "With -O: use the file name that the server suggests (Content-Disposition), and keep an existing file.")
    var remoteHeaderName = false

    @Flag(help: "Keep an existing file, and write to FILE.1, FILE.2 and so on instead.")
    var noClobber = false

    @Flag(
        name: [.customShort("i"), .long],
        help: "Print the response head before the body, after those of redirects and logins.")
    var include = false

    @Flag(name: [.customShort("s"), .long], help: "Show no progress; failures are still reported.")
    var silent = false

    @Flag(
        name: [.customShort("f"), .customLong("fail")],
        help: "Write no body if the status is 400 or above. netkit always fails then.")
    var failsOnErrors = false

    @Flag(
        name: [.customShort("S"), .customLong("show-error")],
        help: "Report failures despite -s: always so, as with curl -S.")
    var showsErrors = false

    @Flag(
        name: [.customShort("v"), .long],
        help: "Print the connection, the certificates and all heads on standard error, without secrets.")
    var verbose = false

    @Option(
        name: [.customShort("w"), .long], parsing: .unconditional,
        help: ArgumentHelp(
            "Print FORMAT after each transfer, with facts such as %{http_code}, %{time_total} and %{size_download}.",
            discussion:
                "Also @FILE. \\n, \\t and %% are a line feed, a tab and a percent sign. All: \(WriteOut.names).",
            valueName: "FORMAT"))
    var writeOut: String?

    @Flag(help: "Print one JSON object for each URL on standard output; bodies are written only with -o or -O.")
    var json = false

    @Flag(help: "Print every step with its time on standard error.")
    var report = false

    @Option(
        help: ArgumentHelp(
            "Write the steps to FILE as a page for a browser; also spelled --report=html FILE.", valueName: "FILE"),
        completion: .file())
    var reportHtml: String?

    @Option(
        help: ArgumentHelp(
            "Write the requests and responses to FILE as an HTTP archive (HAR 1.2), without bodies and secrets.",
            valueName: "FILE"), completion: .file())
    var har: String?

    /// The given options that do not apply to FTP.
    var httpNames: [String] {
        [
            ("-i", include), ("-v", verbose), ("-J", remoteHeaderName), ("-w", writeOut != nil), ("--har", har != nil),
            ("--report=html", reportHtml != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        if include, json { throw ValidationError("-i cannot be combined with --json, which has the response head.") }
        if remoteHeaderName, !remoteName { throw ValidationError("-J requires -O.") }
        if let writeOut { _ = try WriteOut(writeOut) }
    }

    /// The destinations of the bodies of these URLs.
    func destinations(of urls: [String]) throws -> [OutputDestination] {
        if files.count > urls.count { throw ValidationError("There are more -o than URLs.") }
        let paths = files.map { $0 == "-" ? nil : $0 }
        let written = paths.compactMap { $0 }.filter { !$0.hasPrefix("/dev/") }
        if Set(written).count < written.count {
            throw ValidationError("Two -o name the same file.")
        }
        if remoteName, files.count == urls.count {
            throw ValidationError("-O cannot be combined with -o for the same URL.")
        }
        return try urls.enumerated().map { index, url in
            if index < paths.count { return OutputDestination(path: paths[index], keepsExisting: noClobber) }
            guard remoteName else { return OutputDestination(path: nil, keepsExisting: noClobber) }
            return OutputDestination(
                // The server may suggest a name for a URL without one.
                path: remoteHeaderName
                    ? (try? URLArgument.fileName(of: url)) ?? "index.html" : try URLArgument.fileName(of: url),
                keepsExisting: noClobber || remoteHeaderName, usesSuggestedName: remoteHeaderName)
        }
    }
}

/// Where the body of one URL is written.
struct OutputDestination: Sendable {
    /// The file; nil for standard output.
    var path: String?
    /// Whether an existing file stays as it is.
    var keepsExisting = false
    /// Whether a safe name that the server suggests replaces the path.
    var usesSuggestedName = false

    /// The file for a response.
    func path(for response: HTTPResponse) -> String? {
        guard usesSuggestedName else { return path }
        return response.fields[.contentDisposition].flatMap(SuggestedName.name) ?? path
    }
}

/// The file name in a `Content-Disposition` (RFC 6266).
enum SuggestedName {
    private static let longestName = 200

    /// The name that a field suggests, without folders; nil if it has none that is safe to use.
    static func name(_ field: String) -> String? {
        let parameters = parameters(field)
        // The extended form takes precedence (RFC 6266 §4.3).
        let name = parameters["filename*"].flatMap(decoded) ?? parameters["filename"]
        // By scalars, as the system reads them: a `/` beside a combining mark is part of another `Character`.
        guard let last = name?.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init)
        else { return nil }
        let isSafe =
            last.utf8.first != UInt8(ascii: ".") && last.utf8.first != UInt8(ascii: "-")
            && last.utf8.count <= longestName
            && !last.utf8.reversed().starts(with: OutputFile.partialSuffix.utf8.reversed())
            && !last.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) }
        return isSafe && !last.trimmingCharacters(in: .whitespaces).isEmpty ? last : nil
    }

    /// The parameters after the type, with their values unquoted.
    private static func parameters(_ field: String) -> [String: String] {
        var parameters: [String: String] = [:]
        var rest = field.unicodeScalars.drop { $0 != ";" }
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " }
            var value = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let scalar = rest.first, scalar != "\"" {
                    rest = rest.dropFirst()
                    if scalar == "\\", let escaped = rest.first {
                        value.unicodeScalars.append(escaped)
                        rest = rest.dropFirst()
                    } else {
                        value.unicodeScalars.append(scalar)
                    }
                }
                rest = rest.drop { $0 != ";" }
            } else {
                let word = rest.prefix { $0 != ";" }
                rest = rest[word.endIndex...]
                value = String(word).trimmingCharacters(in: .whitespaces)
            }
            let key = String(name).trimmingCharacters(in: .whitespaces).lowercased()
            if parameters[key] == nil { parameters[key] = value }
        }
        return parameters
    }

    /// A value like `UTF-8''na%C3%AFve.txt` (RFC 8187); nil for another character set.
    private static func decoded(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return String(parts[2]).removingPercentEncoding
    }
}
