import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// The options of `netkit get` that decide what is written, and where.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            """
            Write the body to FILE; - is standard output. The first -o is for the first URL, and so on. In FILE, #1 is the text \
            chosen from the first braces or brackets of the URL.
            """, valueName: "FILE"), completion: .file())
    var files: [String] = []

    @Flag(
        name: [.customShort("O"), .long],
        help: "Write each body without -o to a file with the last name in its URL, in the current folder.")
    var remoteName = false

    @Option(
        help: ArgumentHelp("The folder of the files of -o and -O.", valueName: "FOLDER"), completion: .directory)
    var outputDir: String?

    @Flag(help: "Create the folders of the files of -o and -O.")
    var createDirs = false

    @Flag(name: [.customShort("R"), .long], help: "Give each file the time that the server names (Last-Modified).")
    var remoteTime = false

    @Flag(
        name: [.customShort("J"), .long],
        help: "With -O: use the file name that the server suggests (Content-Disposition), and keep an existing file.")
    var remoteHeaderName = false

    @Flag(help: "Keep an existing file, and write to FILE.1, FILE.2 and so on instead.")
    var noClobber = false

    @Flag(
        name: [.customShort("i"), .long],
        help: """
            Write the response head before the body, after those of redirects and logins; to the same file. With --resume, it is \
            printed.
            """)
    var include = false

    @Option(
        name: [.customShort("D"), .long],
        help: ArgumentHelp("Write the heads that -i shows to FILE; - is standard output.", valueName: "FILE"),
        completion: .file())
    var dumpHeader: String?

    @Option(
        help: ArgumentHelp("Write the ETag of the response to FILE, for --etag-compare.", valueName: "FILE"),
        completion: .file())
    var etagSave: String?

    @Flag(help: "Replace the values of Set-Cookie in all that is printed.")
    var hideCookies = false

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
            ("-i", include), ("-D", dumpHeader != nil), ("--etag-save", etagSave != nil), ("-v", verbose),
            ("-J", remoteHeaderName), ("-R", remoteTime),
            ("-w", writeOut != nil), ("--har", har != nil), ("--report=html", reportHtml != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        if include, json { throw ValidationError("-i cannot be combined with --json, which has the response head.") }
        if remoteHeaderName, !remoteName { throw ValidationError("-J requires -O.") }
        if let writeOut { _ = try WriteOut(writeOut) }
    }

    /// The URLs that the arguments stand for, and the destination of each one's body.
    func targets(of globs: [URLGlob]) throws -> [OutputTarget] {
        if files.count > globs.count { throw ValidationError("There are more -o than URLs.") }
        if remoteName, files.count == globs.count {
            throw ValidationError("-O cannot be combined with -o for the same URL.")
        }
        var targets: [OutputTarget] = []
        for (index, glob) in globs.enumerated() {
            let template = index < files.count ? files[index] : nil
            for expansion in glob.expansions {
                let path = template.map { glob.hasChoices ? expansion.path($0) : $0 }
                targets.append(OutputTarget(url: expansion.url, destination: try destination(of: expansion.url, path)))
            }
        }
        let written = targets.compactMap(\.destination.path).filter { !$0.hasPrefix("/dev/") && !noClobber }
        if Set(written).count < written.count, !remoteName || files.count == globs.count {
            throw ValidationError(
                "Two URLs have the same -o\(globs.contains { $0.hasChoices } ? "; use #1 in it" : "").")
        }
        return targets
    }

    private func destination(of url: String, _ path: String?) throws -> OutputDestination {
        if let path {
            return OutputDestination(
                path: path == "-" ? nil : located(path), keepsExisting: noClobber, createsFolders: createDirs)
        }
        guard remoteName else { return OutputDestination(path: nil, keepsExisting: noClobber) }
        // The server may suggest a name for a URL without one.
        let name =
            remoteHeaderName
            ? (try? URLArgument.fileName(of: url)) ?? "index.html" : try URLArgument.fileName(of: url)
        return OutputDestination(
            path: located(name), keepsExisting: noClobber || remoteHeaderName, createsFolders: createDirs,
            usesSuggestedName: remoteHeaderName)
    }

    /// A path in the folder of --output-dir. An absolute path stays.
    private func located(_ path: String) -> String {
        guard let outputDir, !path.hasPrefix("/") else { return path }
        return outputDir.hasSuffix("/") ? outputDir + path : "\(outputDir)/\(path)"
    }
}

/// A URL to load, and where its body is written.
struct OutputTarget: Sendable {
    var url: String
    var destination: OutputDestination
}

/// Where the body of one URL is written.
struct OutputDestination: Sendable {
    /// The file; nil for standard output.
    var path: String?
    /// Whether an existing file stays as it is.
    var keepsExisting = false
    /// Whether the folders of the file are created.
    var createsFolders = false
    /// Whether a safe name that the server suggests replaces the path.
    var usesSuggestedName = false

    /// The file for a response.
    func path(for response: HTTPResponse) -> String? {
        guard usesSuggestedName else { return path }
        guard let name = response.fields[.contentDisposition].flatMap(SuggestedName.name) else { return path }
        let folder = path.flatMap { path in path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } } ?? ""
        return folder + name
    }

    /// Opens a file, on a thread for files, and creates its folders with --create-dirs.
    ///
    /// - Parameter keeps: the number of bytes of the partial file to keep.
    func open(_ path: String, keeping keeps: Int64) async throws -> OutputFile {
        try await OutputFile.open(
            path, keeping: keeps, keepsExisting: keepsExisting, makesFolders: createsFolders)
    }
}

/// The file name in a `Content-Disposition` (RFC 6266).
enum SuggestedName {
    /// The name that a field suggests, without folders; nil if it has none that is safe to use.
    static func name(_ field: String) -> String? {
        let parameters = parameters(field)
        // The extended form takes precedence (RFC 6266 §4.3).
        let name = parameters["filename*"].flatMap(decoded) ?? parameters["filename"]
        // By scalars, as the system reads them: a `/` beside a combining mark is part of another `Character`.
        guard let last = name?.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init)
        else { return nil }
        let isPartial = last.utf8.reversed().starts(with: ReplacementFile.partialSuffix.utf8.reversed())
        return isPartial || LocalFileName.refusal(of: last.utf8) != nil ? nil : last
    }

    /// The parameters after the type, with their values unquoted.
    private static func parameters(_ field: String) -> [String: String] {
        var parameters: [String: String] = [:]
        // Some servers leave out the type.
        let type = field.unicodeScalars.prefix { $0 != ";" }
        var rest = type.contains("=") ? ";\(field)".unicodeScalars[...] : field.unicodeScalars[type.endIndex...]
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
