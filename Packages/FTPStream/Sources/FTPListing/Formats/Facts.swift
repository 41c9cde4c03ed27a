/// The facts of a line, `name=value` between semicolons, one after the other (RFC 3659 §7.2).
struct Facts: Sequence, IteratorProtocol {
    /// One of them. Without a name it is none.
    struct Fact {
        let name: ArraySlice<UInt8>
        let value: ArraySlice<UInt8>
    }

    private var scan: FieldScanner
    private var isOver = false

    init(_ bytes: ArraySlice<UInt8>) {
        scan = FieldScanner(bytes)
    }

    mutating func next() -> Fact? {
        if isOver { return nil }
        let fact = scan.take(upTo: ";")
        isOver = fact == nil
        let text = fact ?? scan.rest
        guard let equals = text.place(of: UInt8(ascii: "=")) else { return Fact(name: [], value: text) }
        return Fact(name: text[..<equals].trimmed, value: text[(equals + 1)...])
    }
}
