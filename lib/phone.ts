/** The one form of phone numbers: +7 and ten digits. */
export const phonePattern = /^\+7\d{10}$/;
