// The stores of this module take and return types of HTTPAuth, so importing it imports those too.
@_exported public import HTTPAuth
