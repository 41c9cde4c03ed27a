import HTTPAuth

/// The error that `body` throws; nil if it throws none of this package.
func failure(of body: () throws -> Void) -> HTTPAuthError? {
    do {
        try body()
        return nil
    } catch {
        return error as? HTTPAuthError
    }
}
