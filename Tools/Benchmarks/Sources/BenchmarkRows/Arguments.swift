internal import Glibc

/// The `name=value` words of a benchmark program's command line, after the row's name.
public struct Arguments: Sendable {
    /// The row to run: the first word.
    public let row: String
    private let values: [String: String]

    init() {
        let words = CommandLine.arguments.dropFirst()
        row = words.first ?? ""
        values = words.dropFirst().reduce(into: [:]) { values, word in
            guard let sign = word.firstIndex(of: "=") else { return }
            values[String(word[..<sign])] = String(word[word.index(after: sign)...])
        }
    }

    /// The text behind `name=`; ends the program when it was not given.
    public func text(_ name: String) -> String {
        guard let value = values[name] else { stop("\(name)= is missing", status: 2) }
        return value
    }

    /// The whole number behind `name=`; ends the program when it was not given or is none.
    public func number(_ name: String) -> Int {
        guard let number = Int(text(name)) else { stop("\(name)=\(text(name)) is not a number", status: 2) }
        return number
    }

    /// The bytes of the file behind `name=`; ends the program when it can't be read.
    public func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(text(name), "re") else { stop("can't open \(text(name))") }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
        return bytes
    }
}
