import FTPListing
@_spi(Packages) import FTPStream
import Foundation

/// Runs the files of directory listings and of their lines. Our parser detects the format.
///
/// The sources distinguish files, directories, links and others, and have no unknown size: the size is a device number or 0
/// where ours is nil. A year that a source guessed at an unknown time (`????`) is not compared.
struct ListingScorer: Scorer {
    func runs(file: String) -> Bool { file == "ftp-listing-lines.jsonl" || file == "ftp-listings.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        var options = ListingOptions(now: now(row))
        if row.tags.contains("jlaffaye-allows-up-to-6-months-in-the-future") { options.futureTolerance = 183 * 86_400 }
        let found = try ListingParser.entries(of: try row.bytes("input_b64"), options)
        if row.text("kind") == "line" { return line(row, found) }
        // This source omits the entries of the listed directory and its parent.
        let skipsDots = row.name.hasPrefix("basic-ftp")
        let inside = skipsDots ? found.filter { $0.relation == .inside } : found
        let expected = row.json["entries"] as? [[String: Any]] ?? []
        guard inside.count == expected.count else {
            return .wrongFields(detail: "\(inside.count) entries instead of \(expected.count)")
        }
        for (entry, values) in zip(inside, expected) {
            if let difference = difference(entry, values, row) { return .wrongFields(detail: difference) }
        }
        return .agreed
    }

    private func line(_ row: CaseRow, _ found: [ListingEntry]) -> Outcome {
        guard row.verdict == "accept" else {
            if found.isEmpty || row.verdict == "reject-or-no-date" && found[0].date == nil { return .agreed }
            if found[0].format == .facts {
                return .notComparable(
                    reason: "facts are independent (RFC 3659 §7): an invalid one is left out, the entry remains")
            }
            return row.text("ftpparse_comparison") == "both-reject"
                ? .laxer(detail: "an entry named \(found[0].name)")
                : .notComparable(reason: "a parser of this format rejects it, but a parser of all formats accepts it")
        }
        guard let entry = found.first, found.count == 1 else { return .stricter(rule: "notAnEntry") }
        guard let values = row.json["entry"] as? [String: Any] else { return .agreed }
        if let decision = decision(entry, values, row) { return .notComparable(reason: decision) }
        return difference(entry, values, row).map { .wrongFields(detail: $0) } ?? .agreed
    }

    /// Returns the decision of the documentation (“What the parser reads”) from which another result follows, if any.
    private func decision(_ entry: ListingEntry, _ values: [String: Any], _ row: CaseRow) -> String? {
        if row.text("format") == "NT", entry.format == .unix {
            return "each line has its own format: a Unix line in a listing of Windows has the columns of Unix"
        }
        if entry.format == .vms, entry.kind == .directory, values["name"] as? String == entry.name + ".DIR" {
            return "the name of a VMS directory is the one that CWD takes, without .DIR"
        }
        return nil
    }

    /// Returns the first difference, if any.
    private func difference(_ entry: ListingEntry, _ values: [String: Any], _ row: CaseRow) -> String? {
        guard let name = values["name"] as? String else { return nil }
        let names = [entry.name, String(bytes: entry.nameBytes, encoding: .windowsCP1251) ?? entry.name]
        // Chromium converts VMS names to lower case.
        let isVMS = entry.format == .vms && row.name.hasPrefix("chromium")
        if !names.contains(name), !(isVMS && entry.name.lowercased() == name) {
            return "name \(entry.name) instead of \(name)"
        }
        if let kind = values["type"] as? String, kind != sourceKind(entry.kind) {
            return "\(entry.kind) instead of \(kind)"
        }
        if entry.kind == .file, let size = values["size"] as? NSNumber, entry.size != size.uint64Value,
            !(entry.size == nil && size == 0)
        {
            return "size \(entry.size.map(String.init) ?? "nil") instead of \(size)"
        }
        if let target = values["symlink_target"] as? String, entry.linkTarget != target {
            return "link to \(entry.linkTarget ?? "nil") instead of \(target)"
        }
        return (values["mtime"] as? String).flatMap { dateDifference(entry.date, $0) }
    }

    private func sourceKind(_ kind: ListingKind) -> String {
        switch kind {
        case .file, .characterDevice, .blockDevice: "file"
        case .directory: "dir"
        case .link: "link"
        case .fifo, .socket, .unknown: "other"
        }
    }

    private func dateDifference(_ date: ListingDate?, _ expected: String) -> String? {
        guard let date else { return "no date instead of \(expected)" }
        func padded(_ number: Int, _ width: Int = 2) -> String {
            String(repeating: "0", count: max(0, width - "\(number)".count)) + "\(number)"
        }
        var text =
            "\(expected.hasPrefix("?") ? "????" : padded(date.year, 4))-\(padded(date.month))-\(padded(date.day))"
        if date.precision != .day { text += "T\(padded(date.hour)):\(padded(date.minute))" }
        if date.precision == .second { text += ":\(padded(date.second))" }
        let count = min(text.count, expected.count)
        return text.prefix(count) == expected.prefix(count) ? nil : "date \(text) instead of \(expected)"
    }

    /// The current time for a row. Chromium's tests share one; for rows without a time, guessed years are not compared.
    private func now(_ row: CaseRow) -> Int64 {
        let text =
            row.text("reference_now") ?? (row.name.hasPrefix("chromium") ? "1994-11-15T12:45" : "2024-01-01T00:00")
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count >= 5 else { return 0 }
        let date = ListingDate(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            precision: .minute)
        return date?.secondsSince1970() ?? 0
    }
}

/// Runs the file of replies on control connections, and of the ports in replies to PASV and EPSV.
///
/// Addresses in replies to PASV are not compared: our client ignores them.
struct ControlScorer: Scorer {
    func runs(file: String) -> Bool { file == "ftp-control.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let bytes = try row.bytes("input_b64")
        switch row.text("kind") {
        case "control-stream": return try stream(row, bytes)
        case "pasv", "epsv":
            let reply = FTPReply(code: 227, lines: [bytes])
            let port = row.text("kind") == "pasv" ? reply.passivePort : reply.extendedPassivePort
            let expected = (row.json["expected"] as? [String: Any])?["port"] as? Int
            if port.map(Int.init) == expected { return .agreed }
            guard let port else { return .stricter(rule: "noPort") }
            // RFC 2428 §3 allows any delimiter. A source that supports only one rejects the others.
            return row.verdict == "reject"
                ? .notComparable(reason: "the delimiter of EPSV is the server's choice (RFC 2428 §3)")
                : .wrongFields(detail: "port \(port) instead of \(expected.map(String.init) ?? "no port")")
        default: throw CaseError("\(row.name): unknown kind \(row.text("kind") ?? "nil")")
        }
    }

    private func stream(_ row: CaseRow, _ input: [UInt8]) throws -> Outcome {
        // Some sources parse a text instead of a stream. The end of a text ends its last line.
        let bytes = input.last == UInt8(ascii: "\n") || row.text("rest") != "" ? input : input + [13, 10]
        let whole = read(bytes, inPiecesOf: bytes.count)
        for size in [1, 2, 3, 7] where read(bytes, inPiecesOf: size) != whole {
            return .wrongFields(detail: "pieces of \(size) bytes give another result")
        }
        guard let whole else { return row.verdict == "reject" ? .agreed : .stricter(rule: "notAReply") }
        if row.verdict == "reject" { return .laxer(detail: "\(whole.replies.count) replies") }
        let expected = row.json["replies"] as? [[String: Any]] ?? []
        guard whole.replies.map(\.code) == expected.compactMap({ $0["code"] as? Int }), whole.isComplete else {
            return .wrongFields(detail: "codes \(whole.replies.map(\.code))")
        }
        for (reply, values) in zip(whole.replies, expected) {
            let own = reply.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if let text = values["text"] as? String {
                let lines = text.split(separator: "\n").map { line in
                    line.hasPrefix("\(reply.code)-") || line.hasPrefix("\(reply.code) ") ? line.dropFirst(4) : line
                }
                if own != lines.map(String.init) { return .wrongFields(detail: "lines \(own) instead of \(lines)") }
            } else if let lines = values["lines"] as? [String] {
                // This source appends a line without a code to the previous line, and drops lines before a foreign code.
                guard own.joined().hasSuffix(lines.joined()) else {
                    return .wrongFields(detail: "lines \(own) instead of \(lines)")
                }
            }
        }
        return .agreed
    }

    private struct Reading: Equatable {
        var replies: [FTPReply]
        var isComplete: Bool
    }

    /// Returns the replies, or nil if the bytes contain an invalid reply.
    private func read(_ bytes: [UInt8], inPiecesOf size: Int) -> Reading? {
        var parser = FTPReplyParser()
        var replies: [FTPReply] = []
        for start in stride(from: 0, to: bytes.count, by: max(1, size)) {
            var piece = bytes[start..<min(bytes.count, start + size)]
            while !piece.isEmpty {
                var used = 0
                do throws(FTPError) {
                    if let reply = try parser.parse(piece, used: &used) { replies.append(reply) }
                } catch {
                    return nil
                }
                piece = piece.dropFirst(used)
            }
        }
        return Reading(replies: replies, isComplete: parser.isEmpty)
    }
}
