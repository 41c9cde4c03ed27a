import HTTPMessage

/// Files of whole messages or heads: `http1-*.jsonl` with `kind`, `mode`, `verdict` and `messages`.
struct MessageScorer: Scorer {
    func runs(file: String) -> Bool { file.hasPrefix("http1-") }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        if let reason = try notComparable(row) { return .notComparable(reason: reason) }
        let bytes = try row.bytes("input_b64")
        let whole = run(row, bytes, file, piece: max(1, bytes.count))
        let single = run(row, bytes, file, piece: 1)
        if whole.verdict != single.verdict || whole.messages != single.messages {
            return .laxer(detail: "another result byte by byte: \(whole.verdict) and \(single.verdict)")
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
            // The same bytes taken for the body, but fewer than were promised: the source does not mind.
            let same = MessageComparison(row).compare(run) == .agreed && row.json["messages"] is [[String: Any]]
            return same ? .stricter(rule: "truncated") : .laxer(detail: "we wait for more")
        case .accept, .acceptAtEnd: return MessageComparison(row).compare(run)
        }
    }

    /// A source may refuse before the head ends; then ours has to refuse by its end.
    private func refused(_ row: CaseRow, _ run: MessageRun, _ bytes: [UInt8], _ file: String) -> Outcome {
        var verdict = run.verdict
        if verdict == .incomplete {
            verdict = self.run(row, bytes + Array("\r\n\r\n".utf8), file, piece: bytes.count + 4).verdict
            if verdict == .incomplete { return .agreed }
        }
        if case .reject = verdict { return .agreed }
        if let reason = policy(row, run) { return .notComparable(reason: reason) }
        return .laxer(detail: "the source says: \(row.errorText)")
    }

    private func incomplete(_ row: CaseRow, _ run: MessageRun) -> Outcome {
        switch run.verdict {
        case .incomplete: .agreed
        case .reject(let code): .stricter(rule: code.rawValue)
        case .accept, .acceptAtEnd: .laxer(detail: "the source waits for more")
        }
    }

    /// Rows about an option or limit of the source that bytes cannot express.
    private func notComparable(_ row: CaseRow) throws -> String? {
        if row.tags.contains("skip-body") { return "the source's caller told it to skip the body" }
        if row.tags.contains("implementation-limit") { return "a limit of the source's own" }
        if row.tags.contains("gateway-specific") { return "a rule of the source's gateway" }
        if row.mode.contains("header_map") { return "a rule of the source's gateway" }
        if row.tags.contains("haproxy-PROXY-protocol"), try row.bytes("input_b64").starts(with: "PROXY ".utf8) {
            return "begins with a line of another protocol"
        }
        if row.mode.contains("casefold_http_method") { return "the source changes the method's letter case" }
        return nil
    }

    /// Refusals that are no matter of syntax or framing: lists and limits of the source's own.
    private func policy(_ row: CaseRow, _ run: MessageRun) -> String? {
        let error = row.errorText.lowercased()
        if run.messages.first?.request != nil, error.contains("method"), !error.contains("content") {
            return "the source knows only some methods; RFC 9110 §9.1 allows any token"
        }
        if row.mode.contains("limit") || error.contains("overflow") && !error.contains("length") {
            return "a limit of the source's own"
        }
        let hasCodings = run.messages.contains { $0.fields.contains(.transferEncoding) }
        if hasCodings, error.contains("unsupported") {
            return "the source does not know a registered transfer coding; the framing is the same"
        }
        // curl's exit codes for what is not in the framing: --fail, ranges, redirects, content codings, sizes.
        if row.name.hasPrefix("curl/"), ["22", "33", "36", "47", "63"].contains(error) || error == "61" && !hasCodings {
            return "curl refuses what the message says, not how it is framed"
        }
        return nil
    }
}
