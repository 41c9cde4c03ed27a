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

    /// The value of `name=`; ends the program if it is missing.
    public func text(_ name: String) -> String {
        guard let value = values[name] else { stop("\(name)= is missing", status: 2) }
        return value
    }

    /// The value of `name=` as an integer; ends the program if it is missing or not an integer.
    public func number(_ name: String) -> Int {
        guard let number = Int(text(name)) else { stop("\(name)=\(text(name)) is not a number", status: 2) }
        return number
    }

    /// The bytes of the file at the path `name=`; ends the program if it cannot be read.
    public func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(text(name), "re") else { stop("can't open \(text(name))") }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
        return bytes
    }
}
