import Foundation
import HTTPMessage

/// Runs the files of whole messages and heads: `http1-*.jsonl` with `kind`, `mode`, `verdict` and `messages`.
struct MessageScorer: Scorer {
    func runs(file: String) -> Bool { file.hasPrefix("http1-") }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        if let reason = try notComparable(row) { return .notComparable(reason: reason) }
        let bytes = try row.bytes("input_b64")
        let whole = run(row, bytes, file, piece: max(1, bytes.count))
        let single = run(row, bytes, file, piece: 1)
        if whole.verdict != single.verdict || whole.messages != single.messages {
            return .laxer(detail: "the result depends on the split: \(whole.verdict), byte by byte \(single.verdict)")
        }
        switch row.verdict {
        case "accept", "accept-at-eof", "no-error": return accepted(row, whole)
        case "reject", "hostile": return refused(row, whole, bytes, file)
        case "incomplete": return incomplete(row, whole)
        default: throw CaseError("\(row.name): unknown verdict \(row.verdict ?? "nil")")
        }
    }

    private func run(_ row: CaseRow, _ bytes: [UInt8], _ file: String, piece: Int) -> MessageRun {
        let leniency = Leniencies.of(row, file: file)
        let method = row.text("request_method").flatMap(HTTPMethod.init) ?? .get
        let isHead = row.mode == "head-only" || row.mode.hasPrefix("lenient:") || row.tags.contains("head-only")
        switch row.text("kind") {
        case "headers":
            return MessageRun(head: bytes, .trailers, leniency, method: method, piece: piece)
        case "response" where isHead:
            return MessageRun(head: bytes, .response, leniency, method: method, piece: piece)
        case "request" where isHead:
            return MessageRun(head: bytes, .request, leniency, method: method, piece: piece)
        case "response":
            return MessageRun(bytes, .response, leniency, method: method, piece: piece)
        default:
            let stops = row.tags.contains("upgrade") || row.tags.contains("upgrade-or-pause")
            return MessageRun(bytes, .request, leniency, stopsAtUpgrade: stops, piece: piece)
        }
    }

    private func accepted(_ row: CaseRow, _ run: MessageRun) -> Outcome {
        switch run.verdict {
        case .reject(let code): return .stricter(rule: code.rawValue)
        case .incomplete:
            // The body is the same but shorter than its stated length, which the source accepts.
            let same = MessageComparison(row).compare(run) == .agreed && row.json["messages"] is [[String: Any]]
            return same ? .stricter(rule: "truncated") : .laxer(detail: "we report it as incomplete")
        case .accept, .acceptAtEnd: return MessageComparison(row).compare(run)
        }
    }

    /// A source may reject a head before its end. Our parser must reject it at its end at the latest.
    private func refused(_ row: CaseRow, _ run: MessageRun, _ bytes: [UInt8], _ file: String) -> Outcome {
        var verdict = run.verdict
        if verdict == .incomplete {
            verdict = self.run(row, bytes + Array("\r\n\r\n".utf8), file, piece: bytes.count + 4).verdict
            if verdict == .incomplete { return .agreed }
        }
        if case .reject = verdict { return .agreed }
        if let reason = policy(row, run) { return .notComparable(reason: reason) }
        return .laxer(detail: "accepted; the source's error: \(row.errorText)")
    }

    private func incomplete(_ row: CaseRow, _ run: MessageRun) -> Outcome {
        switch run.verdict {
        case .incomplete: .agreed
        case .reject(let code): .stricter(rule: code.rawValue)
        case .accept, .acceptAtEnd: .laxer(detail: "accepted; incomplete for the source")
        }
    }

    /// Returns why a row is not comparable, if it depends on an option or limit of the source.
    private func notComparable(_ row: CaseRow) throws -> String? {
        if row.tags.contains("skip-body") { return "the source was configured to skip the body" }
        if row.tags.contains("implementation-limit") { return "a limit of the source" }
        if row.tags.contains("gateway-specific") { return "a rule of the source's gateway" }
        if row.mode.contains("header_map") { return "a rule of the source's gateway" }
        if row.tags.contains("haproxy-PROXY-protocol"), try row.bytes("input_b64").starts(with: "PROXY ".utf8) {
            return "the input begins with a PROXY protocol header"
        }
        if row.mode.contains("casefold_http_method") { return "the source changes the letter case of the method" }
        return nil
    }

    /// Returns why the source's rejection is not comparable, if it is due to a list or limit of the source, not to syntax or
    /// framing.
    private func policy(_ row: CaseRow, _ run: MessageRun) -> String? {
        let error = row.errorText.lowercased()
        if run.messages.first?.request != nil, error.contains("method"), !error.contains("content") {
            return "the source supports a fixed list of methods; RFC 9110 §9.1 allows any token"
        }
        if row.mode.contains("limit") || error.contains("overflow") && !error.contains("length") {
            return "a limit of the source"
        }
        let hasCodings = run.messages.contains { $0.fields.contains(.transferEncoding) }
        if hasCodings, error.contains("unsupported") {
            return "the source does not support a registered transfer coding; the framing is the same"
        }
        // curl's exit codes for errors outside the framing: --fail, ranges, redirects, content codings, sizes.
        if row.name.hasPrefix("curl/"), ["22", "33", "36", "47", "63"].contains(error) || error == "61" && !hasCodings {
            return "curl rejects the content of the message, not its framing"
        }
        return nil
    }
}

/// The leniency for a row, derived from the names of the source's options in the row's mode.
enum Leniencies {
    /// The prefixes of modes that are run with the leniency of a client.
    private static let clientPrefixes = ["client:", "lenient:chromium"]

    /// Whether the source rejects requests without Host. Whole servers do; parsers leave this to their users.
    static func requiresHost(_ row: CaseRow, file: String) -> Bool {
        row.mode == "server" || row.name.hasPrefix("jetty/")
    }

    static func of(_ row: CaseRow, file: String) -> HTTPLeniency {
        if clientPrefixes.contains(where: row.mode.hasPrefix) { return .client }
        var leniency: HTTPLeniency = requiresHost(row, file: file) ? [] : .missingHost
        for (name, flags) in table where row.mode.contains(name) { leniency.formUnion(flags) }
        return leniency
    }

    private static let table: [(String, HTTPLeniency)] = [
        // llhttp
        ("lenient-headers", [.foldedLines, .whitespaceBeforeColon, .controlCharactersInValues]),
        ("lenient-header-value-relaxed", .controlCharactersInValues),
        ("lenient-chunked-length", .transferEncodingOverridesLength),
        ("lenient-version", .anyVersion),
        ("lenient-data-after-close", .dataAfterLastMessage),
        ("lenient-keep-alive", .dataAfterLastMessage),
        ("lenient-optional-lf-after-cr", .bareCarriageReturn),
        ("lenient-optional-cr-before-lf", .bareLineFeed),
        ("lenient-spaces-after-chunk-size", .whitespaceInChunkLines),
        (
            "lenient-all",
            [
                .foldedLines, .whitespaceBeforeColon, .controlCharactersInValues, .transferEncodingOverridesLength,
                .anyVersion, .dataAfterLastMessage, .bareCarriageReturn, .bareLineFeed, .whitespaceInChunkLines,
            ]
        ),
        // httparse
        ("allow_spaces_after_header_name", .whitespaceBeforeColon),
        ("allow_obsolete_multiline_headers", .foldedLines),
        ("allow_multiple_spaces_in", .extraSpacesInStartLine),
        // gunicorn
        ("\"permit_obsolete_folding\": true", .foldedLines),
        ("\"strip_header_spaces\": true", .whitespaceBeforeColon),
        ("\"permit_unconventional_http_version\": true", .anyVersion),
        // jetty
        ("compliance:RFC2616", [.foldedLines, .transferEncodingOverridesLength]),
    ]
}

/// Runs the files of chunked bodies and of chunk size lines.
struct ChunkedBodyScorer: Scorer {
    func runs(file: String) -> Bool {
        file == "http1-chunked-bodies.jsonl" || file == "http1-chunk-size-line.jsonl"
    }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let input = try row.bytes("input_b64")
        var splits = [[input], input.map { [$0] }]
        if let segments = row.json["segments_b64"] as? [String] {
            splits.append(segments.compactMap { Data(base64Encoded: $0).map { Array($0) } })
        }
        let results = splits.map { decode($0, row) }
        guard Set(results.map(\.verdict)).count == 1, Set(results.map(\.payload)).count == 1 else {
            return .laxer(detail: "the result depends on the split")
        }
        let result = results[0]
        switch (row.verdict, result.verdict) {
        case ("accept", "accept"):
            if let decoded = row.text("decoded_b64"), Array(Data(base64Encoded: decoded) ?? Data()) != result.payload {
                return .laxer(detail: "the payload differs")
            }
            if let left = row.json["leftover_bytes"] as? Int, left != result.leftover {
                return .laxer(detail: "\(result.leftover) bytes left instead of \(left)")
            }
            return .agreed
        case ("accept", "incomplete"): return .laxer(detail: "we report it as incomplete")
        case ("accept", let code),
            ("incomplete", let code) where code != "incomplete" && code != "accept":
            return .stricter(rule: code)
        case ("reject", "accept"), ("hostile", "accept"), ("incomplete", "accept"):
            return .laxer(detail: "accepted")
        default: return .agreed
        }
    }

    private struct Result {
        var verdict = "incomplete"
        var payload: [UInt8] = []
        var leftover = 0
    }

    /// Decodes a body that arrives in pieces.
    private func decode(_ pieces: [[UInt8]], _ row: CaseRow) -> Result {
        let endsBeforeTrailers = row.flag("consume_trailer") == false
        let isLine = row.json["decoded_b64"] == nil
        var decoder = BodyDecoder(.chunked)
        var result = Result()
        do throws(HTTPMessageError) {
            for piece in pieces {
                var position = 0
                reading: while true {
                    switch try decoder.next(in: piece.span.bytes, at: &position) {
                    case .payload(let range): result.payload += piece[range]
                    case .needMore, .end: break reading
                    }
                }
                result.leftover += piece.count - position
            }
            let isLineComplete = isLine && (decoder.expectedPayloadCount > 0 || decoder.isPayloadComplete)
            if decoder.isComplete || isLineComplete || endsBeforeTrailers && decoder.isPayloadComplete {
                result.verdict = "accept"
            }
        } catch {
            result.verdict = error.code.rawValue
        }
        return result
    }
}

/// Runs the file about the meaning of response fields, with the leniency of a client.
struct SemanticsScorer: Scorer {
    func runs(file: String) -> Bool { file == "http1-semantics.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        var parser = HeadParser(.response, leniency: .client)
        let bytes = try row.bytes("input_b64")
        let response: HTTPResponse
        do throws(HTTPMessageError) {
            guard case .complete = try parser.parse(bytes.span.bytes) else { return refused(row, "truncated") }
            response = try parser.makeResponse(from: bytes.span.bytes)
        } catch {
            return refused(row, error.code.rawValue)
        }
        switch row.text("property") {
        case "content_length":
            let expected = row.json["expected"] as? Int
            do throws(HTTPMessageError) {
                let framing = try BodyFraming.of(response, to: .get, leniency: .client)
                let length = if case .length(let count) = framing { Int(count) } else { -1 }
                if length == expected { return .agreed }
                return framing == .chunked
                    ? .stricter(rule: "transferEncodingWins") : .laxer(detail: "length \(length)")
            } catch {
                return expected == -1 ? .agreed : .stricter(rule: error.code.rawValue)
            }
        case "keep_alive":
            let expected = row.flag("expected") ?? false
            if response.isPersistent == expected { return .agreed }
            if response.isPersistent { return .laxer(detail: "the connection is kept open") }
            let closes = response.fields.connectionOptions.contains("close")
            return .stricter(rule: closes ? "closeWins" : "proxyConnectionIgnored")
        case "redirect_location":
            let found = response.redirectLocation
            return found == row.text("expected") ? .agreed : .wrongFields(detail: "location \(found ?? "nil")")
        case "strong_validators":
            let found = response.hasStrongValidators
            return found == row.flag("expected") ? .agreed : .wrongFields(detail: "strong validators \(found)")
        default:
            return .notComparable(reason: "unknown property \(row.text("property") ?? "nil")")
        }
    }

    /// The outcome for a rejected head. It agrees if the source determined no length, persistence, location or validator.
    private func refused(_ row: CaseRow, _ rule: String) -> Outcome {
        switch row.json["expected"] {
        case let number as Int where number == -1 || number == 0: .agreed
        case is NSNull: .agreed
        default: .stricter(rule: rule)
        }
    }
}
