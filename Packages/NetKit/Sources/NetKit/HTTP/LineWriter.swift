/// Writes field lines into a buffer, so that they are appended to a head all at once.
struct LineWriter: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    fileprivate private(set) var count = 0

    fileprivate init(_ memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
    }

    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        precondition(count < memory.count)
        memory[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= memory.count &- count)
        if let start = bytes.baseAddress {
            memory.baseAddress?.advanced(by: count).copyMemory(from: start, byteCount: bytes.count)
        }
        count &+= bytes.count
    }

    mutating func write(decimal number: UInt64) {
        var end = count &+ 1
        var rest = number
        while rest >= 10 {
            rest /= 10
            end &+= 1
        }
        precondition(end <= memory.count)
        count = end
        rest = number
        repeat {
            end &-= 1
            memory[end] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
    }
}

extension [UInt8] {
    /// Appends lines of at most `capacity` bytes.
    @inline(__always)
    mutating func appendLines(upTo capacity: Int, _ write: (inout LineWriter) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { memory in
            var lines = LineWriter(memory)
            write(&lines)
            append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[..<lines.count]))
        }
    }
}
