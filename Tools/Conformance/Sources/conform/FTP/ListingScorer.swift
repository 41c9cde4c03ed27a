import FTPListing
import Foundation

/// Lines of directory listings, and whole listings, read without being told the format.
///
/// The sources know files, directories, links and others, and have no "unknown": a device's number or 0 stands where we give
/// no size. A year that a source guessed without saying when (`????`) is not compared.
struct ListingScorer: Scorer {
    func runs(file: String) -> Bool { file == "ftp-listing-lines.jsonl" || file == "ftp-listings.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        var options = ListingOptions(now: now(row))
        if row.tags.contains("jlaffaye-allows-up-to-6-months-in-the-future") { options.futureTolerance = 183 * 86_400 }
        let found = try ListingParser.entries(of: try row.bytes("input_b64"), options)
        if row.text("kind") == "line" { return line(row, found) }
        // These sources leave out what stands for the listed directory, by its name or by its type.
        let skipsDots = row.name.hasPrefix("basic-ftp")
        let inside = skipsDots ? found.filter { $0.place == .inside } : found
        let expected = row.json["entries"] as? [[String: Any]] ?? []
        guard inside.count == expected.count else {
            return .wrongFields(detail: "\(inside.count) entries, not \(expected.count)")
        }
        for (entry, values) in zip(inside, expected) {
            if let difference = difference(entry, values, row) { return .wrongFields(detail: difference) }
        }
        return .agreed
    }

    private func line(_ row: CaseRow, _ found: [ListingEntry]) -> Outcome {
        guard row.verdict == "accept" else {
            if found.isEmpty || row.verdict == "reject-or-no-date" && found[0].date == nil { return .agreed }
            return row.text("ftpparse_comparison") == "both-reject"
                ? .laxer(detail: "an entry named \(found[0].name)")
                : .notComparable(reason: "a parser of this one format refuses it, one of all formats reads it")
        }
        guard let entry = found.first, found.count == 1 else { return .stricter(rule: "notAnEntry") }
        guard let values = row.json["entry"] as? [String: Any] else { return .agreed }
        return difference(entry, values, row).map { .wrongFields(detail: $0) } ?? .agreed
    }

    /// What differs; nil if nothing does.
    private func difference(_ entry: ListingEntry, _ values: [String: Any], _ row: CaseRow) -> String? {
        guard let name = values["name"] as? String else { return nil }
        let names = [entry.name, String(bytes: entry.nameBytes, encoding: .windowsCP1251) ?? entry.name]
        // Chromium writes names of VMS small.
        let isVMS = entry.format == .vms && row.name.hasPrefix("chromium")
        if !names.contains(name), !(isVMS && entry.name.lowercased() == name) {
            return "name \(entry.name), not \(name)"
        }
        if let kind = values["type"] as? String, kind != sourceKind(entry.kind) { return "\(entry.kind), not \(kind)" }
        if entry.kind == .file, let size = values["size"] as? NSNumber, entry.size != size.uint64Value,
            !(entry.size == nil && size == 0)
        {
            return "size \(entry.size.map(String.init) ?? "nil"), not \(size)"
        }
        if let target = values["symlink_target"] as? String, entry.linkTarget != target {
            return "link to \(entry.linkTarget ?? "nil"), not \(target)"
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
        guard let date else { return "no date, not \(expected)" }
        func padded(_ number: Int, _ width: Int = 2) -> String {
            String(repeating: "0", count: max(0, width - "\(number)".count)) + "\(number)"
        }
        var text =
            "\(expected.hasPrefix("?") ? "????" : padded(date.year, 4))-\(padded(date.month))-\(padded(date.day))"
        if date.precision != .day { text += "T\(padded(date.hour)):\(padded(date.minute))" }
        if date.precision == .second { text += ":\(padded(date.second))" }
        let count = min(text.count, expected.count)
        return text.prefix(count) == expected.prefix(count) ? nil : "date \(text), not \(expected)"
    }

    /// The clock of the row. Chromium's tests have one for all; where there is none, no guessed year is compared.
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
