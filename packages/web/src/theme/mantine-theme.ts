import { createTheme, type VariantColorsResolver } from '@mantine/core';
import { t } from '../i18n/translate.ts';
import inputs from './inputs.module.css';

/** Button colours from the tokens: `danger` for actions that end or delete, otherwise the accent. */
const variantColorResolver: VariantColorsResolver = ({ variant, color }) => {
  const tone = color === 'danger' ? 'danger' : 'accent';
  if (variant === 'filled') {
    return {
      background: `var(--fl-${tone})`,
      hover: `var(--fl-${tone}-hover)`,
      color: `var(--fl-on-${tone})`,
      border: '1px solid transparent',
    };
  }
  const text = tone === 'danger' ? 'var(--fl-danger-text)' : 'var(--fl-text)';
  if (variant === 'subtle' || variant === 'transparent') {
    return {
      background: 'transparent',
      hover: 'var(--fl-hover)',
      color: text,
      border: '1px solid transparent',
    };
  }
  return {
    background: 'var(--fl-surface)',
    hover: 'var(--fl-raised-hover)',
    color: text,
    border: '1px solid var(--fl-control-line)',
  };
};

const field = { classNames: { input: inputs.input, label: inputs.label, description: inputs.description } };

/**
 * Defaults of every used Mantine component; sizes and radii come from the tokens. Components are named by a text and
 * not imported, so that a page loads only the components that it uses.
 */
export const mantineTheme = () =>
  createTheme({
    primaryColor: 'yellow',
    defaultRadius: 'var(--fl-radius-control)',
    cursorType: 'pointer',
    respectReducedMotion: true,
    variantColorResolver,
    components: {
      Button: { defaultProps: { variant: 'default' } },
      ActionIcon: { defaultProps: { variant: 'subtle', size: 36 } },
      // Neutral, because the accent is for the main action of a page.
      Notification: { defaultProps: { color: 'var(--fl-control-line)' } },
      TextInput: field,
      PasswordInput: {
        defaultProps: { visibilityToggleButtonProps: { 'aria-label': t('Show password') } },
        classNames: { ...field.classNames, innerInput: inputs.innerInput },
      },
      Textarea: field,
      // A value out of range gets the form's message. Mantine would change it without a word.
      NumberInput: {
        ...field,
        defaultProps: { hideControls: true, allowDecimal: false, clampBehavior: 'none' },
      },
      NativeSelect: field,
      Checkbox: {
        defaultProps: { color: 'var(--fl-text)', iconColor: 'var(--fl-page)' },
        classNames: { input: inputs.check },
      },
      Radio: {
        defaultProps: { color: 'var(--fl-text)', iconColor: 'var(--fl-page)' },
        classNames: { radio: inputs.check },
      },
      Switch: {
        defaultProps: { color: 'var(--fl-text)', withThumbIndicator: false },
        classNames: { track: inputs.track, thumb: inputs.thumb },
      },
    },
  });
